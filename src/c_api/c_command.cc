// The C functions for commands, and those that need no Sandbox.
#include <brig/capabilities.h>
#include <brig/runner.h>
#include <brig/seed.h>

#include "base/error.h"
#include "c_api/c_config.h"
#include "json/json_line.h"

using namespace brig;

namespace {

template <typename T>
T member_or_none(const Json& json, const char* name) {
  try {
    return json.value(name, T());
  } catch (const Json::exception&) {
    throw_error(ErrorKind::config, "{}: expected strings", name);
  }
}

}  // namespace

char* brig_c_run(const char* request, size_t size, const char* input, size_t input_size, int cancel,
                 size_t* result_size, char** error) {
  return brig_c_run_interruptible(request, size, input, input_size, cancel, nullptr, result_size,
                                  error);
}

char* brig_c_run_interruptible(const char* request, size_t size, const char* input,
                               size_t input_size, int cancel, int (*interrupted)(),
                               size_t* result_size, char** error) {
  return guarded<char*>(nullptr, error, [&] {
    const Json json = json_of(request, size);
    Command command;
    command.argv = member_or_none<std::vector<std::string>>(json, "argv");
    if (input) command.stdin_bytes.emplace(input, input_size);
    command.cancel_fd = cancel;
    if (interrupted) command.interrupted = [=] { return interrupted() != 0; };
    const Policy policy = policy_of(json.value("policy", Json::object()));
    return text_for_c(to_json(run(command, policy)), result_size);
  });
}

char* brig_c_capabilities(const char* policy, size_t size, char** error) {
  return guarded<char*>(nullptr, error, [&] {
    return text_for_c(to_json(probe(policy ? policy_of(json_of(policy, size)) : Policy())));
  });
}

char* brig_c_safe_environment(const char* request, size_t size, char** error) {
  return guarded<char*>(nullptr, error, [&] {
    const Json json = json_of(request, size);
    const Json environment =
        build_safe_env(member_or_none<std::vector<std::string>>(json, "passthrough"),
                       member_or_none<std::map<std::string, std::string>>(json, "extra"));
    return text_for_c(json_line(environment));
  });
}

void brig_c_kill_process_tree(int pid) { kill_process_tree(pid); }
