// What one client can hold of a server that others want to use. Times are a second here: the sweep
// for those who are late is as often.
#include "http/http_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <future>
#include <thread>

#include "http/caller.h"

namespace brig::serve {
namespace {

using namespace std::chrono_literals;

constexpr auto kSoon = 15s;
const std::string kGet = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";

class HttpServerOf : public testing::Test {
 protected:
  ~HttpServerOf() override { stop(); }

  void start(const HttpLimits& limits, Handler handler, HeadCheck check = {}) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    UniqueFd listener(fd);
    address_.sun_family = AF_UNIX;  // an abstract name that the kernel makes up
    ASSERT_EQ(bind(fd, address(), sizeof(sa_family_t)), 0);
    ASSERT_EQ(listen(fd, 64), 0);
    ASSERT_EQ(getsockname(fd, address(), &size_), 0);
    loop_ = std::make_unique<Loop>();
    server_ = std::make_unique<HttpServer>(*loop_, std::move(check), std::move(handler), limits);
    server_->listen(std::move(listener));
    thread_ = std::thread([this] { loop_->run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    loop_->stop();
    thread_.join();
    server_.reset();
    loop_.reset();
  }

  // Nothing waits for longer than a test may.
  UniqueFd connect() {
    UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), address(), size_), 0);
    const timeval time{.tv_sec = kSoon.count(), .tv_usec = 0};
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    return client;
  }
  static void send(const UniqueFd& client, const std::string& bytes) {
    ASSERT_EQ(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Until that text, or the end: "!" if that did not come.
  static std::string receive(const UniqueFd& client, const std::string& until = "\n\n\n") {
    std::string all;
    char bytes[65536];
    while (all.find(until) == all.npos) {
      const ssize_t size = recv(client.get(), bytes, sizeof bytes, 0);
      if (size == 0 || (size < 0 && errno == ECONNRESET)) return all;
      if (size < 0) return all + "!";
      all.append(bytes, static_cast<std::size_t>(size));
    }
    return all;
  }
  std::string ask() {
    const UniqueFd client = connect();
    send(client, kGet);
    return receive(client, "hello");
  }

  HttpCounts counts() {
    std::promise<HttpCounts> found;
    loop_->post([&] { found.set_value(server_->counts()); });
    return found.get_future().get();
  }
  [[nodiscard]] bool has_connections(unsigned count) {
    for (const auto end = std::chrono::steady_clock::now() + kSoon;
         std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(20ms))
      if (counts().connections == count) return true;
    return false;
  }

 private:
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }
  sockaddr_un address_{};
  socklen_t size_ = sizeof address_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

void hello(const ExchangePtr& exchange) { exchange->respond({200, "text/plain", "hello", {}}); }

TEST_F(HttpServerOf, TheOldestStrangerThatIsIdleMakesRoom) {
  HttpLimits limits;
  limits.connections = 2;
  std::promise<ExchangePtr> asked;
  start(limits, [&](const ExchangePtr& exchange) {
    if (exchange->request.path == "/") return hello(exchange);
    asked.set_value(exchange);
  });
  const UniqueFd busy = connect();
  send(busy, "GET /later HTTP/1.1\r\nHost: here\r\n\r\n");
  const ExchangePtr exchange = asked.get_future().get();
  const UniqueFd idle = connect();
  ASSERT_TRUE(has_connections(2));
  EXPECT_NE(ask().find("hello"), std::string::npos) << "one who comes is served";
  EXPECT_EQ(receive(idle), "") << "and one who says nothing is let go";
  EXPECT_EQ(counts().refused, 0u);
}

TEST_F(HttpServerOf, MoreCallersThanMayBeAreToldSo) {
  HttpLimits limits;
  limits.connections = 2;
  const CallerPtr caller = std::make_shared<Caller>();
  caller->alone = true;
  start(limits, hello, [caller](const ExchangePtr& exchange) {
    exchange->caller = caller;
    return true;
  });
  const UniqueFd one = connect();
  UniqueFd two = connect();
  for (const UniqueFd* each : std::initializer_list<const UniqueFd*>{&one, &two}) {
    send(*each, kGet);
    ASSERT_NE(receive(*each, "hello").find("hello"), std::string::npos);
  }
  ASSERT_TRUE(has_connections(2));
  const std::string answer = receive(connect());
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), answer.npos) << answer;
  two.reset();
  ASSERT_TRUE(has_connections(1));
  EXPECT_NE(ask().find("hello"), std::string::npos) << "one has left";
}

TEST_F(HttpServerOf, ARefusedHeadIsAnsweredBeforeItsBodyComes) {
  std::atomic<int> handled = 0;
  start(
      {},
      [&](const ExchangePtr& exchange) {
        ++handled;
        hello(exchange);
      },
      [](const ExchangePtr& exchange) {
        if (exchange->request.path == "/") return true;
        exchange->respond({401, "text/plain", "no", {}});
        return false;
      });
  const UniqueFd large = connect();
  send(large, "POST /no HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\nabc");
  const std::string answer = receive(large);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
  EXPECT_NE(answer.find("Connection: close"), answer.npos) << answer;
  const UniqueFd chunked = connect();
  send(chunked, "POST /no HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_TRUE(receive(chunked).starts_with("HTTP/1.1 401 "));
  const UniqueFd waiting = connect();
  send(waiting,
       "POST /no HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(receive(waiting).starts_with("HTTP/1.1 401 ")) << "it is not told to send it";
  EXPECT_EQ(handled, 0);
}

TEST_F(HttpServerOf, ASmallBodyThatIsNotWantedIsPassedOver) {
  std::atomic<int> handled = 0;
  start(
      {},
      [&](const ExchangePtr& exchange) {
        ++handled;
        hello(exchange);
      },
      [](const ExchangePtr& exchange) {
        if (exchange->request.path == "/") return true;
        exchange->respond({401, "text/plain", "no", {}});
        return false;
      });
  const UniqueFd client = connect();
  const std::string body = "GET /sneaky HTTP/1.1\r\nHost: here\r\n\r\n";
  const std::string head =
      "POST /no HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n";
  send(client, head + body + head + body.substr(0, 10));
  EXPECT_NE(receive(client, "no").find("401"), std::string::npos);
  send(client, body.substr(10) + kGet);
  const std::string rest = receive(client, "hello");
  EXPECT_TRUE(rest.ends_with("hello")) << rest;
  EXPECT_EQ(handled, 1) << "what was a body is no request";
}

TEST_F(HttpServerOf, ACallerHasItsShareOfTheMemoryOfBodies) {
  HttpLimits limits;
  limits.body = 4 << 20;
  limits.bodies = 8 << 20;
  const CallerPtr greedy = std::make_shared<Caller>(), modest = std::make_shared<Caller>();
  start(limits, hello, [=](const ExchangePtr& exchange) {
    exchange->caller = exchange->request.path == "/" ? modest : greedy;
    return true;
  });
  const auto post = [](const char* path, std::size_t size) {
    return std::string("POST ") + path +
           " HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
  };
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 4; ++i) {  // none of them is whole; one is too much, and is closed
    slow.push_back(connect());
    const std::string bytes = post("/greedy", 3 << 20) + std::string((3 << 20) - 1, 'x');
    (void)!::send(slow.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  const UniqueFd client = connect();
  send(client, post("/", 1 << 20) + std::string(1 << 20, 'x'));
  EXPECT_NE(receive(client, "hello").find("200 OK"), std::string::npos);
  slow.clear();
  EXPECT_TRUE(has_connections(1));
  EXPECT_EQ(greedy->holds.bodies, 0u);
}

TEST_F(HttpServerOf, ARequestThatNeverEndsIsAnswered) {
  HttpLimits limits;
  limits.head_time = limits.body_time = 1s;
  start(limits, hello);
  for (const char* part : {"GET / HTTP/1.1\r\nHost: he",
                           "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\nabc"}) {
    const UniqueFd client = connect();
    send(client, part);
    EXPECT_TRUE(receive(client).starts_with("HTTP/1.1 408 ")) << part;
  }
  EXPECT_TRUE(has_connections(0));
}

TEST_F(HttpServerOf, ADripThatIsNeverAHeadIsAnswered) {
  HttpLimits limits;
  limits.head_time = 1s;
  start(limits, hello);
  const UniqueFd client = connect();
  std::atomic<bool> over{false};
  std::thread drip([&] {
    for (int i = 0; i < 300 && !over; ++i) {
      (void)!::send(client.get(), "X", 1, MSG_NOSIGNAL);
      std::this_thread::sleep_for(50ms);
    }
  });
  EXPECT_TRUE(receive(client, "\r\n\r\n").starts_with("HTTP/1.1 408 "));
  over = true;
  drip.join();
}

TEST_F(HttpServerOf, WhoSaysNothingIsLetGo) {
  HttpLimits limits;
  limits.head_time = limits.idle_time = 1s;
  start(limits, hello);
  const UniqueFd silent = connect(), idle = connect();
  send(idle, kGet);
  EXPECT_EQ(receive(silent), "");
  EXPECT_TRUE(receive(idle).ends_with("\r\n\r\nhello")) << "and then its end";
  EXPECT_TRUE(has_connections(0));
}

TEST_F(HttpServerOf, WhoWaitsForAnAnswerIsNotLate) {
  HttpLimits limits;
  limits.head_time = limits.body_time = limits.idle_time = limits.send_time = 1s;
  std::promise<ExchangePtr> asked;
  start(limits, [&](const ExchangePtr& exchange) { asked.set_value(exchange); });
  const UniqueFd client = connect();
  send(client, kGet);
  const ExchangePtr exchange = asked.get_future().get();
  // These came later, and are let go: one that says nothing, and one that says half a head.
  const UniqueFd silent = connect(), half = connect();
  send(half, "GET / HTTP/1.1\r\nHost: he");
  EXPECT_EQ(receive(silent), "");
  EXPECT_TRUE(receive(half).starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(has_connections(1)) << counts().connections;
  exchange->respond({200, "text/plain", "hello", {}});
  EXPECT_TRUE(receive(client, "hello").starts_with("HTTP/1.1 200 ")) << "it was let go";
}

TEST_F(HttpServerOf, AnAnswerThatNobodyTakesIsGivenUp) {
  HttpLimits limits;
  limits.send_time = 1s;
  std::promise<void> asked;
  start(limits, [&](const ExchangePtr& exchange) {
    exchange->respond({200, "text/plain", std::string(8 << 20, 'x'), {}});
    asked.set_value();
  });
  const UniqueFd client = connect();
  send(client, kGet);
  asked.get_future().wait();
  EXPECT_TRUE(has_connections(0));
  EXPECT_LT(receive(client).size(), 8u << 20);
}

TEST_F(HttpServerOf, AnAnswerThatIsTakenTooSlowlyIsGivenUp) {
  HttpLimits limits;
  limits.send_time = 1s;
  limits.least_rate = 64 << 20;
  start(limits, [](const ExchangePtr& exchange) {
    exchange->respond({200, "text/plain", std::string(64 << 20, 'x'), {}});
  });
  const UniqueFd client = connect();
  send(client, kGet);
  // Something every 20 ms: it would go on for half a minute.
  std::size_t taken = 0;
  char bytes[40000];
  for (ssize_t size; (size = recv(client.get(), bytes, sizeof bytes, 0)) > 0;) {
    taken += static_cast<std::size_t>(size);
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_LT(taken, 64u << 20);
  EXPECT_TRUE(has_connections(0));
}

TEST_F(HttpServerOf, AStreamThatNobodyTakesEnds) {
  HttpLimits limits;
  limits.unsent = 64 * 1024;
  std::promise<std::size_t> gone;
  start(limits, [&](const ExchangePtr& exchange) {
    bool left = false;
    std::size_t most = 0;
    exchange->on_gone([&] { left = true; });
    exchange->begin({200, "text/plain", "", {}});
    for (int i = 0; i < 1000 && !left; ++i) {
      exchange->write(std::string(16 * 1024, 'x'));
      most = std::max(most, exchange->unsent());
    }
    exchange->on_gone({});
    gone.set_value(left ? most : 0);
  });
  const UniqueFd client = connect();
  send(client, kGet);
  const std::size_t most = gone.get_future().get();
  EXPECT_GT(most, 64u * 1024);
  EXPECT_LT(most, 96u * 1024);
  EXPECT_TRUE(has_connections(0));
}

TEST_F(HttpServerOf, ManyAnswersThatNobodyTakesAreNotKept) {
  HttpLimits limits;
  limits.all_unsent = 4 << 20;
  std::atomic<int> asked = 0;
  start(limits, [&](const ExchangePtr& exchange) {
    ++asked;
    if (exchange->request.path == "/")
      hello(exchange);
    else
      exchange->respond({200, "text/plain", std::string(1 << 20, 'x'), {}});
  });
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 32; ++i) {
    clients.push_back(connect());
    send(clients.back(), "GET /large HTTP/1.1\r\nHost: here\r\n\r\n");
  }
  for (int i = 0; i < 750 && asked < 32; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(asked, 32);
  // What the kernel holds of an answer is not the server's: a few more than four may stay.
  EXPECT_NE(ask().find("hello"), std::string::npos) << "others are served";
  EXPECT_GE(counts().connections, 3u);
  EXPECT_LE(counts().connections, 8u);
  for (UniqueFd& each : clients) each.reset();
  EXPECT_TRUE(has_connections(0));
}

}  // namespace
}  // namespace brig::serve
