"""Writes keys.jsonl, with nothing but the standard library: `python3 keys.py > keys.jsonl`.

The canonical form is json.dumps with sorted names, which is RFC 8785 as long as names are ASCII and numbers are
integers within +-(2^53-1); these inputs keep to that.
"""

import hashlib
import json
import uuid

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:idem:v1")


def form(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def identifier(*parts):
    return str(uuid.uuid5(NAMESPACE, form(list(parts))))


def derived_key(tenant, preimage):
    return f"dk_{tenant}_{sha256(preimage)[:40]}"


def line(kind, **members):
    print(json.dumps({"kind": kind, **members}, ensure_ascii=False))


for tenant, name in [("acme", "psp"), ("a_b", "e-mail \"2\""), ("-", "ключ"), ("h.0123456789abcdef0123456789abcdef", "")]:
    key = derived_key(tenant, form({"action": "refund.issue", "case_id": "C-7"}))
    for generation in [1, 2]:
        line(
            "downstream",
            tenant=tenant,
            key=key,
            generation=generation,
            name=name,
            to_uuid=identifier("key", tenant, key),
            row_id=identifier("row", tenant, key, generation),
            downstream_key=identifier("downstream", tenant, key, generation),
            child=identifier("child", tenant, key, generation, name),
        )

for tenant, client_key in [
    ("acme", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
    ("acme", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ("a_b", "order_7"),
    ("a", "b_order_7"),
]:
    line("client", tenant=tenant, client_key=client_key, key=f"ck_{tenant}_{sha256(client_key)[:40]}")

for principal in ["ada@example.com", "auth0|42", "urn:x:é", ""]:
    line("opaque", principal=principal, tenant=f"h.{sha256(principal)[:32]}")

for tenant, case_id, no, payload, place in [
    ("acme", "C-7", 1, {"cents": 900}, {"case_id": "C-7"}),
    ("acme", "C-7", 1, {"cents": 901}, {"case_id": "C-7", "year": 2026}),
    ("a_b", "Zürich \"7\"\n", -9007199254740991, {"b": [1, None, True], "a": {"z": "", "y": "😀"}}, {"year": 2026, "case_id": "\t"}),
]:
    action = "refund.issue"
    preimage = {"action": action, "case_id": case_id, "no": no, "tenant": tenant}
    line(
        "input",
        tenant=tenant,
        action=action,
        case_id=case_id,
        no=no,
        payload=payload,
        place=place,
        preimage=form(preimage),
        expected_key=derived_key(tenant, form(preimage)),
        fingerprint=sha256(form({"action": action, "key": preimage, "payload": {"payload": payload}})),
        place_digest=sha256(form({"action": action, "place": place})),
    )

for snapshot, params in [("snap-1", {"limit": 5000, "items": [{"b": 1, "a": None}]}), (None, [])]:
    decision = {
        "tenantId": "initech",
        "subject": {"type": "customer", "id": "c-7"},
        "action": "credit.limit.increase",
        "params": params,
        "model": {"id": "gpt-x", "version": "2026-08-14"},
        "promptTemplateSha256": sha256("You are …"),
        "retrievalSnapshotId": snapshot,
        "policyVersion": "30",
    }
    preimage = form({name: value for name, value in decision.items() if value is not None})
    line(
        "decision",
        input=json.dumps(decision),
        preimage=preimage,
        key=derived_key("initech", preimage),
        subject=form(decision["subject"]),
    )
