// What a Loop is made of. Only for the files that use Boost.Asio, which takes long to compile.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "http/loop.h"

namespace brig::serve {

struct Loop::Impl {
  boost::asio::io_context context{1};
  boost::asio::signal_set signals{context};
};

}  // namespace brig::serve
