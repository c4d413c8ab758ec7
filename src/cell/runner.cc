#include <brig/runner.h>

#include "cell/warden.h"

namespace brig {

struct Runner::Impl {
  Warden warden;
};

Runner::Runner(Policy policy, RunnerOptions options)
    : impl_(new Impl{{std::move(policy), options}}) {}
Runner::~Runner() = default;

Report Runner::run(const Command& command, const OutputCallback& on_output) {
  CellRequest request{command};
  request.interrupted = command.interrupted;
  return impl_->warden.run(std::move(request), on_output).report;
}

Runner::Pending Runner::run_async(const Command& command, OutputCallback on_output,
                                  DoneCallback on_done) {
  auto promise = std::make_shared<std::promise<Report>>();
  Pending pending;
  pending.report = promise->get_future();
  pending.id = impl_->warden.submit({command}, std::move(on_output),
                                    [promise, done = std::move(on_done)](CellResult result) {
                                      if (done) done(result.report);
                                      promise->set_value(std::move(result.report));
                                    });
  return pending;
}

bool Runner::cancel(std::uint64_t id, bool at_once) { return impl_->warden.cancel(id, at_once); }
unsigned Runner::ready() const { return impl_->warden.ready(); }

}  // namespace brig
