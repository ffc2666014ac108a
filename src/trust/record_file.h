#pragma once
/// Record file: what is trusted in one project, in the user's own state folder, where no repository can
/// write: PROJECT/record.json and, for the difference, the trusted texts by their SHA-256. Blocks: call it on
/// a pool thread.
#include "trust/item.h"

namespace cru::trust {

/// Where the record of the project at `root` is, in the user's state folder (platform/files/own_mark.h);
/// empty if there is none, or if it is inside the project, where agents write.
std::string record_folder(const std::string& root);

/// An absent file is an empty record. Errors: forbidden for one that others could have written;
/// invalid_argument for a damaged one. Then nothing is trusted.
Result<Record> load_record(const std::string& folder, const std::string& root);
/// Whole or not at all, 0600 in folders that are 0700; `texts` by their SHA-256. Texts that the record does
/// not name are removed, and the folder with the last of them. Errors: forbidden, disk_full, and conflict
/// where there is no state folder.
Result<> save_record(const std::string& folder, const std::string& root, const Record& record,
                     const std::map<std::string, std::string>& texts);
/// Empty if it is not there any more.
std::string trusted_text(const std::string& folder, const std::string& sha256);

}  // namespace cru::trust
