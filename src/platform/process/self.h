#pragma once
/// Self: who this process is to the system, and what it asks of it for itself.
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace cru {

int own_pid();
/// The user whose rights we have.
unsigned own_user();
/// That user's name; "uid-1000" where there is none.
std::string own_user_name();

/// For us and whatever we start from now on; `replaces` one that is there.
void set_environment(const std::string& name, const std::string& value, bool replaces = true);
/// Every variable of our environment.
std::map<std::string, std::string> whole_environment();

/// The file of this program, by the name it has now; of one that was replaced, a name that leads nowhere.
/// Empty if the system does not say.
std::string own_executable();
/// The same to execute: after an upgrade has replaced the file, a name that still reaches ours.
std::string own_executable_to_start();
/// This program anew in this process, with other words (the first is its name), to do what `doing` says.
/// Returns only if that fails.
Error begin_anew(std::vector<std::string> words, const std::string& doing);

/// Writing to a pipe that nobody reads is an error then, not the end.
void ignore_broken_pipes();
/// Where the size of files is limited, writing beyond it fails and does not end this process.
void ignore_file_size_limits();
/// What we create is for our user only, whatever mode it is given.
void create_for_own_user_only();
/// As many descriptors as the system lets us have: that many, but at most a million, for some systems set no
/// limit.
size_t raise_descriptor_limit();
/// Gives back the memory that only starting has needed: unused heap, and the pages of the program itself.
/// Those are clean, so the system keeps them in its page cache and maps again what is still called. The pages
/// of libraries go too where nearly nothing is called any more; others use them, so that little is gained.
enum class Libraries { stay, released };
void release_startup_memory(Libraries libraries = Libraries::stay);

}  // namespace cru
