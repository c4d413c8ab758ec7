// What the user's service manager says on its socket.
#include "os/dbus_message.h"

#include "support.h"

using namespace brig;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes = fuzz::text_of(data, size);
  while (const std::optional<std::size_t> one = dbus_message_size(bytes)) {
    fuzz::promise(*one <= bytes.size(), "a message is no longer than what there is", "");
    if (*one == 0) break;
    if (const auto message = parse_dbus_message(bytes.substr(0, *one))) {
      fuzz::promise(message->body.size() < *one, "a body is a part of its message", message->body);
      DbusReader body(message->body);
      for (const char type : message->signature) {
        if (type == 'u') body.number();
        if (type == 's' || type == 'o') (void)body.text();
        if (type == 'g') (void)body.signature();
        if (!body.ok()) break;
        fuzz::promise(body.at() <= message->body.size(), "reads no further than the body", "");
      }
    }
    bytes.remove_prefix(*one);
  }
  return 0;
}
