// Whether a file can be trusted. brig judges each file that it reads for its own decisions
// (manifests, policies, tokens, keys, modules, libraries) by owner and mode, through the descriptor
// that it then reads. See docs/decisions/023.
//
// Not judged: directories above the file's own, and who may read the file.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace brig {

enum class Consent {
  // Somebody named the path. That is consent to the file's owner, but never to a file that everyone
  // can write.
  named,
  // brig found the file by itself. The file and its directory must belong to this user or to root.
  found,
};

// What a file or a directory says about who can change it.
struct Ownership {
  uid_t owner = 0;
  gid_t group = 0;
  mode_t mode = 0;
  // Whether it has an access list. Then the group bits of `mode` are the mask of that list.
  bool has_acl = false;
};

// Which user is in which group, as /etc/passwd and /etc/group say. Name services are not consulted.
class Accounts {
 public:
  Accounts(std::string passwd, std::string group)
      : passwd_(std::move(passwd)), group_(std::move(group)) {}
  static Accounts of_this_machine();

  // Whether a group has its owner's name or number, or is root's, and has no members except
  // `owner`, root and `self`.
  [[nodiscard]] bool is_private(gid_t group, uid_t owner, uid_t self) const;

 private:
  std::string passwd_, group_;
};

// The first reason why user `self` can't trust a file in that directory, such as "everyone can
// write it". "" if there is none.
std::string distrust(const Ownership& file, const Ownership& directory, Consent consent, uid_t self,
                     const Accounts& accounts);

struct FileRequest {
  std::string path;
  // "manifest", for messages.
  std::string_view what;
  Consent consent = Consent::named;
  // For a file that brig found: how to name it, "--manifest ./brig.toml".
  std::string_view how_to_name = {};
  // Whether a pipe is accepted too: an anonymous pipe, which only processes have that were given
  // it; a FIFO, judged as a file is; and, under the name of a descriptor (/dev/stdin, /dev/fd/N), a
  // connected Unix socket of this user or of root.
  bool may_be_pipe = false;
  // How long to wait for the end of a pipe.
  std::chrono::milliseconds patience{30'000};
};

// Opens a regular file, or a pipe if the request accepts one, for reading, if it can be trusted.
// Never waits. Throws Error: `permission` for a file that can't be trusted, otherwise the kind of
// the errno, or `config` where the caller can correct it. `check` sees the mode first, for callers
// with further demands.
using ModeCheck = std::function<void(mode_t mode)>;
UniqueFd open_trusted(const FileRequest& request, const ModeCheck& check = {});

// The content of such a file. If it is longer than `most`, returns enough to show that. Reads a
// pipe until its end. Throws Error, also for a pipe through which nothing comes: then the program
// that should have written to it has failed.
std::string read_trusted(const FileRequest& request, std::size_t most, const ModeCheck& check = {});

// For a directory where brig looks for code. Throws Error(permission) if everyone can write to it.
void check_trusted_directory(const std::string& path, std::string_view what);

}  // namespace brig
