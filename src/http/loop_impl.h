// The parts of a Loop. Only the files that use Boost.Asio include this; it takes long to compile.
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
