// The HTTP API behind the HTTP: paths, queries, bodies, limits. The input is as request_from() has it.
#include "json/json_text.h"
#include "serve/api.h"
#include "service.h"
#include "service/run_request.h"
#include "support.h"

using namespace brig;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto& quiet = fuzz::Quiet::get();
  serve::Jobs jobs(quiet.loop, quiet.service);
  serve::Api api(quiet.loop, quiet.service, jobs,
                 [](const serve::Caller&) { return Json::object(); });
  const auto exchange = std::make_shared<fuzz::FakeExchange>();
  exchange->request = fuzz::request_from(fuzz::text_of(data, size));
  if (!exchange->request.path.starts_with("/v1/")) exchange->request.path = "/v1/run";
  // What the machine can do does not hang on the input, and takes long to find out.
  if (exchange->request.path.starts_with("/v1/cap")) return 0;

  std::string fault;
  if (const auto body = json_from(exchange->request.body, fault); body && body->is_object()) {
    CallLimits limits;
    (void)serve::read_limits(*body, limits);
  }
  api.handle(exchange, quiet.caller);
  fuzz::settle(quiet.loop);
  // A job may be waited for; nothing else takes time.
  fuzz::promise(exchange->answered() || exchange->request.parameter("wait"),
                "a request is answered", exchange->request.path);
  fuzz::promise(exchange->answer.status < 500, "no input is the server's fault",
                exchange->answer.body);
  exchange->leave();
  fuzz::settle(quiet.loop);
  fuzz::promise(quiet.service.calls(*quiet.caller).empty(), "no call is left");
  return 0;
}
