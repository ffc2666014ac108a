#pragma once
/// JSON Schemas of the coordination rows' replies.

namespace cru::api {

// Reply schemas: `success` and `error` are on every one of them (see Operation::is_coordination).
constexpr auto lock_schema = R"({"type":"object","required":["success","action","file_path"],"properties":{
"success":{"type":"boolean"},"action":{"enum":["acquired","refreshed",null]},"file_path":{"type":"string"},
"expires_at":{"type":["string","null"]},"reason":{"type":["string","null"]},"locked_by":{"type":["string","null"]},
"lock_reason":{"type":["string","null"]},"fencing_token":{"type":["integer","null"]},
"locked_by_session":{"type":["string","null"]},"message":{"type":"string"}}})";
constexpr auto release_schema = R"({"type":"object","required":["success","action","file_path"],"properties":{
"success":{"type":"boolean"},"action":{"enum":["released",null]},"file_path":{"type":"string"},
"reason":{"type":["string","null"]},"message":{"type":"string"}}})";
constexpr auto locks_schema = R"({"type":"object","required":["result"],"properties":{
"result":{"type":"array","items":{"type":"object","required":["file_path","locked_by"],"properties":{
"file_path":{"type":"string"},"locked_by":{"type":"string"},"agent_type":{"type":"string"},
"session_id":{"type":"string"},"locked_at":{"type":"string"},"expires_at":{"type":"string"},
"reason":{"type":["string","null"]},"fencing_token":{"type":"integer"},"waiters":{"type":"integer"}}}}}})";
constexpr auto work_schema = R"({"type":"object","required":["task_id","status"],"properties":{
"task_id":{"type":"string"},"task_type":{"type":"string"},"description":{"type":"string"},"input_data":{},
"priority":{"type":"integer"},"status":{"enum":["pending","claimed","running","completed","failed","cancelled"]},
"depends_on":{"type":"array","items":{"type":"string"}},"blocked_by":{"type":"array","items":{"type":"string"}},
"attempts":{"type":"integer"},"max_attempts":{"type":"integer"},"deadline":{"type":["string","null"]},
"claimed_by":{"type":["string","null"]},"claimed_by_session":{"type":["string","null"]},
"claimed_by_member":{"type":["string","null"]},"lease_expires_at":{"type":["string","null"]},"retry_at":{"type":["string","null"]},
"verify":{"type":"array","items":{"type":"string"}},"evidence":{},"result":{},"error_message":{"type":["string","null"]},
"submitted_by":{"type":"string"},"created_at":{"type":"string"},"completed_at":{"type":["string","null"]}}})";
constexpr auto claim_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"task_id":{"type":["string","null"]},"task_type":{"type":["string","null"]},
"description":{"type":["string","null"]},"input_data":{},"priority":{"type":["integer","null"]},
"deadline":{"type":["string","null"]},"reason":{"type":["string","null"]},"fencing_token":{"type":["integer","null"]},
"attempt":{"type":["integer","null"]},"lease_expires_at":{"type":["string","null"]},
"verify":{"type":"array","items":{"type":"string"}},"items":{"type":"array","items":{"type":"object"}}}})";
constexpr auto completion_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"status":{"enum":["completed","failed",null]},"task_id":{"type":"string"},
"reason":{"type":["string","null"]},"retry_at":{"type":["string","null"]},"evidence":{},"message":{"type":"string"},
"items":{"type":"array","items":{"type":"object"}}}})";
constexpr auto submitted_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"task_id":{"type":"string"},"reason":{"type":["string","null"]}}})";
constexpr auto handoff_schema = R"({"type":"object","required":["id","agent_name","summary"],"properties":{
"id":{"type":"string"},"agent_name":{"type":"string"},"written_by":{"type":"string"},
"session_id":{"type":"string"},"summary":{"type":"string"},
"completed_work":{"type":"array","items":{"type":"string"}},"in_progress":{"type":"array","items":{"type":"string"}},
"decisions":{"type":"array","items":{"type":"string"}},"next_steps":{"type":"array","items":{"type":"string"}},
"relevant_files":{"type":"array","items":{"type":"string"}},"kind":{"enum":["written","final"]},
"empty":{"type":"boolean"},"carries":{"type":["string","null"]},"changeset_id":{"type":["string","null"]},
"created_at":{"type":"string"},"changeset":{"type":["object","null"],"properties":{
"id":{"type":["string","null"]},"session_id":{"type":"string"},"base":{"type":["string","null"]},
"head":{"type":["string","null"]},"files":{"type":"array","items":{"type":"string"}},"file_count":{"type":"integer"},
"created_at":{"type":"string"},"more_commits":{"type":"boolean"},"commits":{"type":["array","null"],"items":{
"type":"object","properties":{"id":{"type":"string"},"author":{"type":"string"},"subject":{"type":"string"},
"created_at":{"type":"string"}}}}}}}})";
constexpr auto changesets_schema =
    R"({"type":"object","required":["changesets"],"properties":{"changesets":{"type":"array","items":{"type":"object",
"properties":{"id":{"type":"string"},"session_id":{"type":"string"},"base":{"type":["string","null"]},
"head":{"type":["string","null"]},"files":{"type":"array","items":{"type":"string"}},"file_count":{"type":"integer"},
"created_at":{"type":"string"}}}}}})";
constexpr auto handoffs_schema =
    R"({"type":"object","required":["handoffs"],"properties":{"handoffs":{"type":"array","items":{"type":"object"}}}})";
constexpr auto handoff_written_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"handoff_id":{"type":"string"},"error":{"type":"string"},"reason":{"type":["string","null"]}}})";
constexpr auto agents_schema =
    R"({"type":"object","required":["agents"],"properties":{"agents":{"type":"array",
"items":{"type":"object","required":["agent_id","status"],"properties":{"agent_id":{"type":"string"},
"agent_type":{"type":"string"},"session_id":{"type":"string"},"capabilities":{"type":"array","items":{"type":"string"}},
"status":{"enum":["active","idle","disconnected"]},"badge":{"type":["string","null"]},
"current_task":{"type":["string","null"]},
"last_heartbeat":{"type":"string"},"started_at":{"type":"string"},"ended_at":{"type":["string","null"]}}}}}})";
constexpr auto crew_schema =
    R"({"type":"object","required":["crew"],"properties":{"success":{"type":"boolean"},
"more":{"type":"boolean"},"crew":{"type":"array","items":{"type":"object","required":["id","name","kind","badge"],
"properties":{"id":{"type":"string"},"name":{"type":"string"},
"kind":{"enum":["person","claude","codex","gemini","command","model","script"]},
"badge":{"enum":["needs you","failed","disconnected","speaking","listening","thinking","using a tool","queued","idle","done"]},
"since":{"type":"string"},"evidence":{"type":["string","null"]},"doing":{"type":["string","null"]},
"parent":{"type":["string","null"]},"program":{"type":["string","null"]},"definition":{"type":["string","null"]},
"tokens":{"type":["integer","null"]},"cost_usd":{"type":["number","null"]},
"spent":{"type":["string","null"]},"facets":{"type":"object"}}}}}})";
constexpr auto session_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"session_id":{"type":"string"},"error":{"type":"string"},"reason":{"type":["string","null"]}}})";
constexpr auto ended_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"session_id":{"type":"string"},"locks_released":{"type":"integer"},
"work_requeued":{"type":"integer"},"handoff_id":{"type":["string","null"]},"reason":{"type":["string","null"]}}})";
constexpr auto cleanup_schema =
    R"({"type":"object","required":["success","agents_cleaned","locks_released"],"properties":{
"success":{"type":"boolean"},"agents_cleaned":{"type":"integer"},"locks_released":{"type":"integer"},
"work_requeued":{"type":"integer"}}})";
constexpr auto remembered_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"memory_id":{"type":"string"},"action":{"enum":["created","deduplicated"]}}})";
constexpr auto memories_schema =
    R"({"type":"object","required":["memories"],"properties":{"memories":{"type":"array","items":{"type":"object"}}}})";
constexpr auto guardrails_schema = R"({"type":"object","required":["safe","violations"],"properties":{
"safe":{"type":"boolean"},"violations":{"type":"array","items":{"type":"object","required":["pattern_name","blocked"],
"properties":{"pattern_name":{"type":"string"},"category":{"type":"string"},"severity":{"type":"string"},
"matched_text":{"type":"string"},"blocked":{"type":"boolean"}}}}}})";
constexpr auto edit_schema = R"({"type":"object","required":["allowed"],"properties":{
"allowed":{"type":"boolean"},"reason":{"type":["string","null"]},"file_path":{"type":"string"},
"locked_by":{"type":["string","null"]},"expires_at":{"type":["string","null"]},"fencing_token":{"type":["integer","null"]},
"message":{"type":"string"}}})";
constexpr auto ask_schema = R"({"type":"object","required":["success","question_id","status"],"properties":{
"success":{"type":"boolean"},"question_id":{"type":"string"},"status":{"enum":["pending","answered","expired"]},
"response":{"type":["string","null"]},"prompt":{"type":"string"},"asked_at":{"type":"string"},
"options":{"type":"array","items":{"type":"string"}},"message":{"type":"string"}}})";

}  // namespace cru::api
