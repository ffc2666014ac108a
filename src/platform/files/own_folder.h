#pragma once
/// Own folders: what we write ourselves in a project. A repository may bring a folder of the same name, with
/// links that lead to a person's files: such a one is not used. Blocks on a slow disk.
#include <string>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

/// Opens `path` below `root`, making with `mode` what is missing of it. No part of it may be a link or belong
/// to another user: forbidden, in one sentence that names the part.
Result<Fd> make_own_folder(const std::string& root, const std::string& path, unsigned mode = 0755);
/// Below a folder that is held open, and never in another that has its name by now.
Result<Fd> make_own_folder(const Fd& root, const std::string& path, unsigned mode = 0755);
/// Whether `make_own_folder` would say forbidden. Makes nothing; what is missing is fine.
Result<> check_own_folder(const std::string& root, const std::string& path);

/// A state folder that we use: held open, with the id of its mark (own_mark.h).
struct StateFolder {
  Fd folder;
  std::string id = {};
};

/// Whether the folder `name` of `root` can hold our state: it is missing, or it is a real folder, ours, not
/// tracked by git, neither it nor its small folders hold a link or anything that is another's, and it has our
/// mark or nothing worth one. Otherwise forbidden (internal for what is no folder), in one sentence that says
/// what to do. Changes nothing.
Result<> check_state_folder(const std::string& root, const std::string& name);
/// Opens the folder `name` of `root`, made (0700) and marked where it is missing. Errors: those of
/// check_state_folder, before anything is written; those of make_mark.
Result<StateFolder> open_state_folder(const std::string& root, const std::string& name);
/// Makes it again where somebody has removed it, or its mark, with the id of `held`; `held` is what stands
/// there afterwards. With nothing held it is the other one without its check, for whoever was started by one
/// that has checked it: git's index may be large. Errors: forbidden for another's that stands there by now;
/// those of the disk.
Result<> keep_state_folder(const std::string& root, const std::string& name, StateFolder& held);
/// What a folder holds that was adopted, until its next user has dropped the keys that came with it.
inline constexpr const char* adopted_name = "adopted";
/// Whether adopt_state_folder could. Errors: not_found; forbidden for what is not to be used by anybody.
Result<> check_adoption(const std::string& root, const std::string& name);
/// Marks a folder that stands there without our mark: for a copy, or one that an older version made. Whoever
/// asks for it answers for what is in it. Errors: those of check_adoption and of make_mark.
Result<> adopt_state_folder(const std::string& root, const std::string& name);

/// Whether a folder that decides what we do is really its owner's to fill. Outcomes: nothing for a folder
/// that belongs to us or to root, for what is no folder, and where there is nothing; forbidden for a symbolic
/// link and for another user's, with what to do.
Result<> check_owner(const std::string& path);

}  // namespace cru
