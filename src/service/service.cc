#include "service/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time_text.h"
#include "json/json_line.h"
#include "json/json_text.h"
#include "service/left_files.h"
#include "service/manifest_watch.h"

namespace brig::serve {
namespace {

constexpr std::size_t kWatchBuffer = 2048, kMostAtOnce = std::size_t{1} << 20;
// Bytes of arguments.
constexpr std::size_t kMostInEvents = 4 * 1024;

bool is_call_id(std::string_view id) {
  return id.size() <= kLongestCallId &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 127; });
}

std::string hash_of(const Json& arguments) {
  std::string fault;
  return hex_of(sha256(json_text(arguments, fault).value_or("")));
}

}  // namespace

Service::Service(Loop& loop, ServiceOptions options, Builtins builtins)
    : loop_(loop),
      options_(std::move(options)),
      audit_(options_.audit),
      refusals_(loop, [this](const Json& line) { audit_.write(json_line(line)); }),
      subscribers_(std::make_shared<std::list<Subscriber>>()),
      on_tools_(std::make_shared<std::list<std::function<void()>>>()),
      give_back_(loop),
      worker_(std::make_unique<Worker>()) {
  concurrency_ = options_.sandbox.concurrency
                     ? options_.sandbox.concurrency
                     : 2 * std::max(1u, std::thread::hardware_concurrency());
  if (builtins.sandbox) builtins_ = serve(std::move(builtins.sandbox), builtins.policy);
  loaded_ = ManifestWatch::now();
  if (has_manifest()) {
    if (builtins_)
      preloaded_ = preload_of(options_.preload, manifest_from_toml_file(options_.manifest).preload);
    Policy policy;
    auto sandbox =
        make_sandbox(options_.manifest, builtins_ ? builtins_->sandbox.get() : nullptr, policy);
    tools_ = serve(std::move(sandbox), std::move(policy));
  }
}

Service::~Service() {
  handover_.close();
  // A reload that is under way needs all the other members.
  worker_.reset();
  for (const auto& served : {builtins_, tools_})
    if (served) served->readable.reset();
}

std::shared_ptr<Sandbox> Service::make_sandbox(const std::string& path, const Sandbox* beside,
                                               Policy& policy) const {
  Manifest manifest = manifest_from_toml_file(path);
  policy = manifest.policy;
  SandboxOptions options = options_.sandbox;
  options.beside = beside;
  auto made = std::make_shared<Sandbox>(std::move(manifest.tools), manifest.policy, options);
  for (const auto& tool : made->list_tools())
    if (builtins_ && is_builtin(tool->name))
      throw_error(ErrorKind::config, "{}: '{}' is the name of a built-in tool", path, tool->name);
  return made;
}

std::shared_ptr<ServedSandbox> Service::serve(std::shared_ptr<Sandbox> sandbox, Policy policy) {
  auto served = std::make_shared<ServedSandbox>();
  served->policy = std::move(policy);
  served->sandbox = std::move(sandbox);
  for (const auto& tool : served->sandbox->list_tools()) served->tools.emplace(tool->name, tool);
  served->watch = served->sandbox->watch(kWatchBuffer);
  served->readable = loop_.when_readable(served->watch->descriptor(),
                                         [this, raw = served.get()] { read_events(*raw, false); });
  return served;
}

std::vector<std::shared_ptr<const Tool>> Service::tools(const Caller& caller,
                                                        const std::string& query) const {
  std::vector<std::shared_ptr<const Tool>> list;
  for (const auto& served : {builtins_, tools_})
    if (served)
      for (const auto& [name, tool] : served->tools)
        if (caller.may_call(name) && matches(*tool, query)) list.push_back(tool);
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a->name < b->name; });
  return list;
}

std::size_t Service::tool_count(const Caller& caller) const {
  std::size_t count = 0;
  for (const auto& served : {builtins_, tools_})
    if (served)
      for (const auto& [name, tool] : served->tools) count += caller.may_call(name);
  return count;
}

FoundTool Service::find(const std::string& name, const Caller& caller) const {
  if (!caller.may_call(name)) return {};
  for (const auto& served : {builtins_, tools_})
    if (served)
      if (const auto found = served->tools.find(name); found != served->tools.end())
        return {found->second, served};
  return {};
}

std::shared_ptr<ServedSandbox> Service::sandbox_with(const std::string& tool) const {
  return builtins_ && is_builtin(tool) ? builtins_ : tools_ ? tools_ : builtins_;
}

Policy Service::policy_of(const Tool& tool) const {
  return tool.options.policy ? *tool.options.policy : sandbox_with(tool.name)->policy;
}

std::optional<Refusal> Service::refusal_of(const CallRequest& request) {
  if (draining_)
    return Refusal{503, "draining",
                   "the server is stopping; use another server, or try again later",
                   std::chrono::seconds(5)};
  if (!is_call_id(request.call_id))
    return Refusal{422, "invalid-arguments",
                   "call_id must be up to 128 printable ASCII characters, without spaces"};
  Caller& caller = *request.caller;
  if (named_.contains({&caller, request.call_id}))
    return Refusal{409, "call-exists",
                   "your call with this call_id has not ended; use another call_id"};
  if (!caller.may_call(request.tool))
    return Refusal{403, "not-allowed",
                   fmt::format("'{}' may not call {}", caller.name, in_quotes(request.tool))};
  if (caller.concurrency && caller.running >= caller.concurrency)
    return Refusal{429, "too-many-calls",
                   fmt::format("'{}' may have only {} calls at once; try again later", caller.name,
                               caller.concurrency),
                   std::chrono::seconds(1)};
  if (const auto wait = caller.must_wait(std::chrono::steady_clock::now()))
    return Refusal{429, "rate-limited",
                   fmt::format("'{}' may make only {} calls per second; try again later",
                               caller.name, caller.rate),
                   wait};
  if (!request.found)
    return Refusal{404, "unknown-tool",
                   "unknown tool: " + in_quotes(request.tool.substr(0, kLongestWord))};
  return {};
}

std::string Service::new_id(const Caller& caller) const {
  std::string id;
  do id = "c" + random_hex(16);
  while (named_.contains({&caller, id}));
  return id;
}

std::variant<AcceptedCall, Refusal> Service::start(CallRequest request, CallObserver observer) {
  if (!request.found) request.found = find(request.tool, *request.caller);
  auto refusal = refusal_of(request);
  const std::string hash = refusal ? "" : hash_of(request.arguments);
  if (!refusal) {
    if (request.call_id.empty()) request.call_id = new_id(*request.caller);
    // A call that can't be noted is not made.
    if (!audit_.works() || !audit_.write(start_line(request, hash)))
      refusal = Refusal{503, "no-audit",
                        "the audit log can't be written; calls are refused until it can be",
                        std::chrono::seconds(5)};
  }
  if (refusal) {
    refused(request, *refusal);
    return std::move(*refusal);
  }
  std::string id = std::move(request.call_id);
  const std::uint64_t number = next_number_++;
  named_[{request.caller.get(), id}] = number;
  ActiveCall& call = active_[number];
  call.summary = {id,
                  request.tool,
                  request.caller->name,
                  false,
                  std::chrono::system_clock::now(),
                  shown_arguments(request.arguments, options_.arguments, kMostInEvents)};
  call.served = std::move(request.found.served);
  call.caller = request.caller;
  call.observer = std::move(observer);
  call.trace = std::move(request.trace);
  call.peer = std::move(request.peer);
  call.via = std::move(request.via);
  call.arguments_hash = hash;
  ++call.caller->running;
  CallOptions options;
  options.call_id = std::to_string(number);
  options.session = std::move(request.session);
  if (!call.caller->alone) {
    options.caller = call.caller->name;
    options.shares = true;
  }
  options.limits = request.limits;
  const auto on_done = [this, number](ToolResult result) {
    // Runs on a thread of the sandbox's.
    auto held = std::make_shared<ToolResult>(std::move(result));
    auto turn = Handover::is_for(held->output) ? handover_.begin() : nullptr;
    loop_.post([this, number, held, turn] { end(number, std::move(*held)); });
  };
  try {
    call.served->sandbox->call_async(request.tool, std::move(request.arguments), std::move(options),
                                     on_done);
  } catch (const std::exception& error) {
    // For example, there was no memory. The call was accepted, so it ends as every call does.
    ToolResult failed;
    failed.report.outcome = Outcome::internal;
    failed.report.message = failed.error = error.what();
    on_done(std::move(failed));
  }
  return AcceptedCall{number, std::move(id)};
}

bool Service::cancel(std::uint64_t number, bool at_once) {
  const auto found = active_.find(number);
  return found != active_.end() &&
         found->second.served->sandbox->cancel(std::to_string(number), at_once);
}

Service::Cancelled Service::cancel(const std::string& call_id, const Caller& caller,
                                   const std::string& of) {
  std::vector<std::uint64_t> such;
  const auto own = named_.find({&caller, call_id});
  if (own != named_.end() && (of.empty() || of == caller.name))
    such.push_back(own->second);
  else if (caller.admin)
    for (const auto& [number, call] : active_)
      if (call.summary.call_id == call_id && (of.empty() || of == call.summary.caller))
        such.push_back(number);
  if (such.size() > 1) return Cancelled::several;
  return !such.empty() && cancel(such[0]) ? Cancelled::yes : Cancelled::none;
}

void Service::cancel_all(const Caller* only) {
  for (const auto& [number, call] : active_)
    if (!only || call.caller.get() == only) cancel(number, true);
}

std::vector<CallSummary> Service::calls(const Caller& caller) const {
  std::vector<CallSummary> list;
  for (const auto& [id, call] : active_)
    if (caller.admin || call.caller.get() == &caller) list.push_back(call.summary);
  std::sort(list.begin(), list.end(),
            [](const CallSummary& a, const CallSummary& b) { return a.since < b.since; });
  return list;
}

// `all`: reads everything that a watch can hold. Otherwise reads only so much that a flood of
// output does not delay everything else; the rest comes next.
void Service::read_events(ServedSandbox& served, bool all) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kWatchBuffer && (all || bytes < kMostAtOnce); ++i) {
    auto event = served.watch->next(std::chrono::milliseconds(0));
    if (!event) return;
    bytes += event->text.size();
    receive(std::move(*event));
  }
}

void Service::end(std::uint64_t number, ToolResult result) {
  const auto found = active_.find(number);
  if (found == active_.end()) return;
  // Output and events from before the end come before the end.
  read_events(*found->second.served, true);
  ActiveCall call = std::move(found->second);
  active_.erase(found);
  named_.erase({call.caller.get(), call.summary.call_id});
  --call.caller->running;
  result.call_id = call.summary.call_id;
  // Only MCP hands files out as bytes.
  if (call.served == builtins_ && call.via != "mcp") show_files(result.output);
  const bool known = result.report.outcome != Outcome::unknown_tool;
  metrics_.called(known ? call.summary.tool : "", result);
  record(call, result);
  keep(call, result);
  Event finished;
  finished.kind = Event::Kind::finished;
  finished.tool = call.summary.tool;
  finished.call_id = call.summary.call_id;
  finished.at = std::chrono::system_clock::now();
  publish(finished, &call, &result);
  call.observer.on_done(std::move(result));
  call.served.reset();
  if (!retired_.empty()) sweep_retired();
  if (draining_ && active_.empty() && drained_) std::exchange(drained_, nullptr)();
}

void Service::drain(std::function<void()> done) {
  draining_ = true;
  if (active_.empty()) return done();
  drained_ = std::move(done);
}

SandboxState Service::state() const {
  SandboxState sum;
  for (const auto& served : {builtins_, tools_}) {
    if (!served) continue;
    const SandboxState state = served->sandbox->state();
    // Counts all sandboxes that share places.
    sum.running = state.running;
    sum.waiting = state.waiting;
    sum.ready += state.ready;
  }
  return sum;
}

}  // namespace brig::serve
