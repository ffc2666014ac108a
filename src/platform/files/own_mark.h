#pragma once
/// Own marks: how a folder of our making is told from one that came with a project. The file `made` in it
/// holds a random id, and the user's own state folder, where no archive and no repository writes, knows the
/// id and where its folder is. So a project that is moved keeps its folder, one that was unpacked brings
/// none, and a copy has none while the original is there. Blocks on a slow disk.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

/// $XDG_STATE_HOME/cru, or ~/.local/state/cru; empty if there is no home folder.
std::string user_state_folder();

/// The id in `folder`, if it is one that we have noted. Outcomes: the id; not_found where there is no mark;
/// forbidden for one that nobody has noted here, for a copy of one that is still where it was noted, or where
/// there is no state folder to look in.
Result<std::string> read_mark(const Fd& folder);
/// What stands in the mark, noted or not; empty if nothing does.
std::string mark_in(const Fd& folder);

/// Marks `folder`, of the project at `root`, as ours: notes a new id, durably, then writes it. The id.
/// Errors: forbidden where there is no state folder of the user's own, disk_full and the like. Removes some
/// of the notes whose project is gone and that nobody has used for a month, or sooner if there are many.
Result<std::string> make_mark(const Fd& folder, const std::string& root);
/// Notes that the folder with this id, which is `folder`, is at `root` now, and that it is in use.
void note_place(const Fd& folder, std::string_view id, const std::string& root);
/// Writes the mark with an id that is noted already, whole or not at all.
Result<> write_mark(const Fd& folder, std::string_view id);
/// The roots of all projects that are noted in this state folder.
std::vector<std::string> noted_projects(const std::string& state);
/// Whether an entry of a marked folder is the mark, or one that is being written.
bool is_mark_name(std::string_view name);

}  // namespace cru
