#[derive(KeyField)]
struct CaseId(String);

#[derive(KeyField)]
struct Pair(u32, CaseId);
