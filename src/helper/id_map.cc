#include "helper/id_map.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string.h>

#include "helper/text.h"

namespace brig::helper {

namespace {

bool write_map(int process, const char* file, unsigned inside, unsigned outside, unsigned count) {
  char line[80], number[24];
  strcpy(line, decimal(number, inside));
  strcat(strcat(line, " "), decimal(number, outside));
  strcat(strcat(line, " "), decimal(number, count));
  return write_file(process, file, line);
}

}  // namespace

bool map_id_range(int proc, const char* process, unsigned inside, unsigned outside_uid,
                  unsigned outside_gid, unsigned count, Failure& failure) {
  const int dir = openat(proc, process, O_PATH | O_DIRECTORY | O_CLOEXEC);
  bool ok = false;
  if (!write_file(dir, "setgroups", "deny"))
    fail(failure, wire::Stage::id_map, 0);
  else if (!write_map(dir, "uid_map", inside, outside_uid, count))
    fail(failure, wire::Stage::id_map, 1);
  else if (!write_map(dir, "gid_map", inside, outside_gid, count))
    fail(failure, wire::Stage::id_map, 2);
  else
    ok = true;
  if (dir >= 0) close(dir);
  return ok;
}

bool map_ids(int proc, unsigned inside, unsigned outside_uid, unsigned outside_gid,
             Failure& failure) {
  // A process may write its own maps only if it owns those files, and it does not while it is
  // non-dumpable. Nothing that could trace this process exists yet in a namespace that sees it.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (!map_id_range(proc, "self", inside, outside_uid, outside_gid, 1, failure)) return false;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return true;
}

}  // namespace brig::helper
