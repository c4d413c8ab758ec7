// How a call of a Sandbox begins: the Sandbox finds its tool and checks its arguments.
#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "cell/call_limits.h"
#include "json/json_text.h"
#include "sandbox/sandbox_impl.h"

namespace brig {
namespace {

using std::chrono::milliseconds;

std::string message_of(const std::vector<SchemaFault>& faults) {
  std::string text = "the arguments do not fit the tool: ";
  for (const SchemaFault& fault : faults) {
    if (&fault != &faults.front()) text += "; ";
    text += fmt::format("{}: expected {}", fault.path.empty() ? "the arguments" : fault.path,
                        fault.expected);
  }
  return text;
}

std::string limit_text(milliseconds value) { return format_duration(value); }
std::string limit_text(std::uint64_t value) { return format_size(value); }
std::string limit_text(std::uint32_t value) { return std::to_string(value); }

// The most that a call may ask for. A limit that the policy does not set has no bound, or the
// largest value that its time limit allows.
milliseconds most_allowed(const std::optional<milliseconds>& policys, const Limits& limits) {
  return policys.value_or(limits.timeout * 10'000);
}
std::uint64_t most_allowed(const std::optional<std::uint64_t>& policys, const Limits&) {
  return policys.value_or(UINT64_MAX);
}
template <typename Value>
Value most_allowed(const Value& policys, const Limits&) {
  return policys;
}

// Returns which of a call's own limits is above the policy's or too small, or "". `table` stands
// before the limit's name in the message.
std::string wider(const CallLimits& own, const Limits& policy, std::string_view table) {
  std::string text;
  for_each_call_limit([&](const auto& each) {
    const auto& mine = own.*each.own;
    if (!text.empty() || !mine) return;
    const auto most = most_allowed(policy.*each.policys, policy);
    if (*mine > most)
      text = fmt::format("{}{}: {} is more than the {} of the policy", table, each.name,
                         limit_text(*mine), limit_text(most));
    else if (*mine <= decltype(most){} && each.least != decltype(most){})
      text = fmt::format("{}{} must be greater than 0", table, each.name);
    else if (*mine < each.least)
      text = fmt::format("{}{} must be {} or more", table, each.name, limit_text(each.least));
  });
  return text;
}

// A call does not put back variables that the policy removes. The process of a Python function sets
// the variables of its arguments itself.
void take_out(const std::vector<std::string>& unset, const Tool& tool, MadeCall& made,
              Json& arguments) {
  const auto env = tool.python ? arguments.find("env") : arguments.end();
  for (const std::string& name : unset) {
    made.variables.erase(name);
    if (env != arguments.end() && env->is_object()) env->erase(name);
  }
}

// Sets each limit to the narrower of the two.
void narrow(CallLimits& limits, const CallLimits& more) {
  for_each_call_limit([&](const auto& each) {
    auto& mine = limits.*each.own;
    const auto& theirs = more.*each.own;
    if (theirs && (!mine || *theirs < *mine)) mine = theirs;
  });
}

// Sends the arguments as JSON text, which a tool's function reads. Returns what is wrong, or "".
std::string pass_as_json(CellRequest& request, const Json& arguments) {
  std::string fault;
  const std::optional<JsonPieces> text = json_pieces(arguments, fault);
  if (!text) return "the arguments hold " + fault;
  const auto runs = text->runs();
  if (std::string outline;
      !runs.empty() && (outline = text->outline()).size() <= wire::kInlineArguments)
    stow_outline(request, std::move(outline), runs);
  else
    stow_arguments(request, text->list());
  return "";
}

// Sends what the tool's maker makes of the arguments. Returns what is wrong, or "". Throws Error.
std::string pass_by_maker(SandboxCall& call, Json& arguments) {
  const Tool& tool = *call.tool->tool;
  CellRequest& request = call.request;
  MadeCall made = tool.maker->make(arguments);
  take_out(call.tool->unset, tool, made, arguments);
  if (std::string wide = wider(made.limits, call.tool->limits, ""); !wide.empty()) return wide;
  // Who asked for all that the policy allows can't ask for more.
  call.own_time = made.limits.timeout && *made.limits.timeout < call.tool->limits.timeout &&
                  (!request.limits.timeout || *made.limits.timeout <= *request.limits.timeout);
  narrow(request.limits, made.limits);
  stow_files(request, made.files);
  request.command = std::move(made.command);
  request.variables = std::move(made.variables);
  request.directory = std::move(made.directory);
  call.output = std::move(made.output);
  return "";
}

// Checks the arguments and fills in the request. Returns what is wrong with them, or "". Throws
// Error.
std::string pass_arguments(SandboxCall& call, Json arguments) {
  const Tool& tool = *call.tool->tool;
  if (arguments.is_null()) arguments = Json::object();
  if (tool.options.coerce) call.tool->input.coerce(arguments);
  if (const auto faults = call.tool->input.check(arguments); !faults.empty())
    return message_of(faults);
  if (call.tool->command) {
    call.request.command.argv = call.tool->command->expand(arguments);
    return "";
  }
  if (tool.maker)
    if (std::string fault = pass_by_maker(call, arguments); !fault.empty()) return fault;
  if (tool.maker && !tool.python) return "";
  call.request.command.argv = {call.tool_name};
  return pass_as_json(call.request, arguments);
}

}  // namespace

std::shared_ptr<SandboxCall> Sandbox::Impl::begin(const std::string& name, Json arguments,
                                                  CallOptions options, ToolResult& result) {
  auto call = std::make_shared<SandboxCall>();
  call->asked = Clock::now();
  call->tool_name = name;
  call->request.owner = options.caller + '\0' + options.session;
  call->caller = {std::move(options.caller), options.shares};
  call->result.started_at = std::chrono::system_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = prepared_.find(name); found != prepared_.end())
      call->tool = found->second;
  }
  const auto refused = [&](Outcome outcome, std::string message) {
    refuse(*call, outcome, std::move(message));
    result = std::move(call->result);
    return nullptr;
  };
  // An id must not be guessable: a caller that chooses ids could otherwise make cancel() end this
  // call too.
  call->call_id = std::move(options.call_id);
  try {
    if (call->call_id.empty()) call->call_id = "call-" + random_hex(16);
  } catch (const Error& error) {
    return refused(Outcome::internal, error.what());
  }
  call->result.call_id = call->call_id;
  if (!call->tool)
    return refused(Outcome::unknown_tool,
                   fmt::format("unknown tool: {}", in_quotes(name.substr(0, 100))));
  if (const std::string wide = wider(options.limits, call->tool->limits, "limits."); !wide.empty())
    return refused(Outcome::invalid_arguments, wide);
  call->request.limits = options.limits;
  call->request.asked = call->asked;
  call->request.interrupted = std::move(options.interrupted);
  try {
    if (std::string fault = pass_arguments(*call, std::move(arguments)); !fault.empty())
      return refused(Outcome::invalid_arguments, std::move(fault));
  } catch (const Error& error) {
    return refused(
        error.kind() == ErrorKind::config ? Outcome::invalid_arguments : Outcome::internal,
        error.what());
  }
  call->deadline = call->asked + call->request.limits.timeout.value_or(call->tool->limits.timeout);
  request_progress(*call);
  return call;
}

}  // namespace brig
