// A question of the DNS, and the answers to it.
#include "egress/dns_message.h"
#include "policy/host_rule.h"
#include "promise.h"

using namespace brig;
using fuzz::promise;

namespace {

constexpr std::size_t kHeader = 12, kRecord = 16;

void check_answer(const egress::DnsQuestion& question, egress::DnsCode code,
                  const egress::Address* address) {
  const std::vector<std::uint8_t> answer = write_dns_answer(question, code, address, 60);
  const bool has_record = address && address->is_ipv4();
  promise(answer.size() == kHeader + question.wire.size() + (has_record ? kRecord : 0),
          "an answer has the question and at most one record");
  promise(answer[0] == question.id >> 8 && answer[1] == (question.id & 0xff), "it has the same id");
  promise((answer[2] & 0x80) != 0 && (answer[3] & 0x0f) == static_cast<unsigned>(code),
          "it is an answer with that code");
  promise(answer[5] == 1 && answer[7] == (has_record ? 1 : 0), "its counts are right");
  promise(std::equal(question.wire.begin(), question.wire.end(), answer.begin() + kHeader),
          "it repeats the question as it came");
  promise(!egress::read_dns_question(answer), "an answer is no question");
  // The same bytes as a question are the same question.
  std::vector<std::uint8_t> asked = answer;
  asked[2] = question.wants_recursion ? 1 : 0;
  asked[3] = 0;
  const auto again = egress::read_dns_question(asked);
  promise(again && again->name == question.name && again->type == question.type &&
              again->class_ == question.class_ && again->wire == question.wire &&
              again->id == question.id && again->wants_recursion == question.wants_recursion,
          "a question is what is written of it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> message(data, size);
  const auto question = egress::read_dns_question(message);
  for (std::size_t cut = 0; cut < size && cut <= 600; ++cut) {
    const auto of_cut = egress::read_dns_question(message.first(cut));
    if (!question) {
      // More than 512 bytes are too many; fewer may be a question.
      promise(!of_cut || size > 512, "what is no question does not begin with one");
      continue;
    }
    promise(of_cut.has_value() == (cut >= kHeader + question->wire.size()),
            "a question is all there or none");
    promise(!of_cut || of_cut->wire == question->wire, "what follows changes nothing");
  }
  if (!question) return 0;
  promise(question->wire.size() <= 255 + 4, "a name has at most 255 bytes");
  promise(std::equal(question->wire.begin(), question->wire.end(), data + kHeader),
          "a question is as it came");
  promise(question->name.empty() || normal_host_name(question->name) == question->name,
          "a question's name is normal", question->name);
  const egress::Address ipv4 = egress::Address::v4(0xC6120100);
  const egress::Address ipv6{{0x20, 0x01, 0x0d, 0xb8}};
  check_answer(*question, egress::DnsCode::ok, &ipv4);
  check_answer(*question, egress::DnsCode::ok, &ipv6);
  check_answer(*question, egress::DnsCode::refused, nullptr);
  return 0;
}
