#include "egress/way_out.h"

#include <boost/asio/post.hpp>
#include <future>

#include "base/error.h"
#include "egress/cell.h"
#include "egress/proxy.h"

namespace brig::egress {
namespace {

constexpr std::chrono::seconds kPatience{5};

}  // namespace

void Sockets::add(UniqueFd socket) {
  if (dns)
    listeners.push_back(std::move(socket));
  else
    dns = std::move(socket);
}

WayOut::WayOut(std::shared_ptr<const Settings> settings, Sockets sockets)
    : proxy_(Proxy::shared()),
      cell_(std::make_shared<Cell>(*proxy_, std::move(settings), sockets)) {
  auto shared = std::make_shared<Sockets>(std::move(sockets));
  boost::asio::post(proxy_->loop(), [cell = cell_, shared] { cell->begin(std::move(*shared)); });
}

WayOut::~WayOut() {
  // Nothing of the cell outlives the loop: what is posted is done before the proxy ends.
  if (cell_) boost::asio::post(proxy_->loop(), [cell = std::move(cell_)] { cell->end(); });
}

void WayOut::narrow(std::shared_ptr<const Rules> rules) { cell_->narrow(std::move(rules)); }

WayOut::Account WayOut::close() {
  if (!cell_) return {};
  const std::shared_ptr<Cell> cell = std::move(cell_);
  if (cell->is_quiet()) {
    boost::asio::post(proxy_->loop(), [cell] { cell->end(); });
    return {};
  }
  const auto account = std::make_shared<std::promise<Account>>();
  boost::asio::post(proxy_->loop(), [cell, account] {
    try {
      cell->end();
      account->set_value(cell->take_account());
    } catch (...) {
      account->set_exception(std::current_exception());
    }
  });
  std::future<Account> result = account->get_future();
  // Nothing in the loop waits, so this takes microseconds. A call has a deadline all the same.
  if (result.wait_for(kPatience) != std::future_status::ready)
    throw Error(ErrorKind::internal, "brig's proxy did not say what the tool reached");
  try {
    return result.get();
  } catch (const std::exception&) {
    throw Error(ErrorKind::internal, "brig's proxy had no memory to say what the tool reached");
  }
}

}  // namespace brig::egress
