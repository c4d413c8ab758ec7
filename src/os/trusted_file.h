// Whose file is this: a file that brig reads for its own decisions (manifest, policy, tokens, keys, modules,
// libraries) is judged by owner and mode, through the descriptor that is then read. See docs/decisions/023.
//
// Not judged: directories above the file's own, and who may read a file.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace brig {

enum class Consent {
  named,  // somebody named the path: that is consent to its owner, never to a file that everyone can write
  found,  // brig looked for it by itself: it must be one's own or root's, and so must its directory
};

// What a file or directory says of who can change it.
struct Ownership {
  uid_t owner = 0;
  gid_t group = 0;
  mode_t mode = 0;
  bool has_acl =
      false;  // an access list: then the group's bits of `mode` are those of its longest entry
};

// Who is in which group, as /etc/passwd and /etc/group have it. No name service is asked.
class Accounts {
 public:
  Accounts(std::string passwd, std::string group)
      : passwd_(std::move(passwd)), group_(std::move(group)) {}
  static Accounts of_this_machine();

  // Whether a group has its owner's name or number, or is root's, and lists nobody but `owner`, root and `self`.
  [[nodiscard]] bool is_private(gid_t group, uid_t owner, uid_t self) const;

 private:
  std::string passwd_, group_;
};

// The first reason why user `self` can't trust a file in that directory, "everyone can write it", or "".
std::string distrust(const Ownership& file, const Ownership& directory, Consent consent, uid_t self,
                     const Accounts& accounts);

struct FileRequest {
  std::string path;
  std::string_view what;  // "manifest", for messages
  Consent consent = Consent::named;
  // For a file that was found: how to name it, "--manifest ./brig.toml".
  std::string_view how_to_name = {};
  // A pipe will do, too: an anonymous one, which only those have that were given it; a FIFO, judged as a file is; and,
  // by the name of a descriptor (/dev/stdin, /dev/fd/N), a connected Unix socket of this user's or root's.
  bool may_be_pipe = false;
  std::chrono::milliseconds patience{30'000};  // until the end of a pipe
};

// A regular file, or a pipe if that may be, that is trusted, open for reading. Never waits. Throws Error: permission for one that is not
// trusted, else as errno has it; what can't be opened is the caller's to mend (config). `check` sees its mode
// first, for those who ask for more.
using ModeCheck = std::function<void(mode_t mode)>;
UniqueFd open_trusted(const FileRequest& request, const ModeCheck& check = {});

// Its text; of a longer one than `most`, so much that it is seen to be longer. Throws Error. A pipe is read until its end;
// one through which nothing comes is an error: what should have written to it has failed.
std::string read_trusted(const FileRequest& request, std::size_t most, const ModeCheck& check = {});

// For a directory that code is looked for in: throws Error(permission) if everyone can write to it.
void check_trusted_directory(const std::string& path, std::string_view what);

}  // namespace brig
