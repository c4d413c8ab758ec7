#include "service/left_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/text.h"
#include "service/output_room.h"
#include "service/resources.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostImages = 8, kLargestImage = std::size_t{4} << 20, kTypeBytes = 512;
constexpr std::size_t kMostFiles = 16, kLargestFile = std::size_t{8} << 20,
                      kMostBytes = std::size_t{16} << 20, kMostShown = std::size_t{6} << 20;
constexpr std::chrono::seconds kLongestLook{1};

bool is_given(const GivenFiles& given, const std::string& path, const std::string& bytes) {
  const auto found = given.find(path);
  return found != given.end() && found->second == sha256(bytes);
}

// What programs keep for themselves: .git, .cache, __pycache__.
bool is_private(const std::string& path) {
  for (const auto& part : std::filesystem::path(path))
    if (part.native().starts_with('.') || part == "__pycache__" || part == "node_modules")
      return true;
  return false;
}

class LeftFiles {
 public:
  // `room`: bytes of text for images.
  LeftFiles(const Workspace& workspace, const GivenFiles& given, std::size_t room)
      : workspace_(workspace), given_(given), room_(room) {}

  void look() {
    const auto until = std::chrono::steady_clock::now() + kLongestLook;
    Workspace::Seen seen;
    for (const Workspace::File& file : workspace_.files(until, &seen)) {
      if (is_private(file.path)) continue;
      if (std::chrono::steady_clock::now() >= until)
        leave_out(file, "looking at them took too long");
      else
        take(file);
    }
    if (seen.unnamed > 0) left_out_["their names are not UTF-8"] += seen.unnamed;
    if (!seen.all) left_out_["the workspace holds too many names to look at them all"] += 1;
  }

  void add_to(Json& output) {
    if (!images_.empty()) output["images"] = std::move(images_);
    if (!files_.empty()) output["files"] = std::move(files_);
    if (left_out_.empty()) return;
    Json& list = output["files_left_out"] = Json::array();
    for (const auto& [why, count] : left_out_) list.push_back({{"why", why}, {"count", count}});
  }

 private:
  void leave_out(const Workspace::File& file, const std::string& why) {
    if (!given_.contains(file.path)) ++left_out_[why];
  }

  void take(const Workspace::File& file) {
    if (images_.size() == kMostImages && files_.size() == kMostFiles)
      return leave_out(file, too_many());
    const auto head = workspace_.read(file.path, kTypeBytes);
    if (!head) return leave_out(file, "they could not be read");
    const std::string type = image_type(*head);
    // One for which there is no room is a file like others.
    const bool image = !type.empty() && file.size <= kLargestImage &&
                       images_.size() < kMostImages && base64_size(file.size) <= room_;
    if (!image && files_.size() == kMostFiles) return leave_out(file, too_many());
    if (!image && (file.size > kLargestFile || file.size > left_)) {
      files_.push_back(
          {{"path", file.path},
           {"mime_type", mime_type_of(file.path, *head)},
           {"size", file.size},
           {"left_out",
            file.size > kLargestFile
                ? fmt::format("it is larger than {}", format_size(kLargestFile))
                : fmt::format("the files are larger than {} in all", format_size(kMostBytes))}});
      return;
    }
    auto bytes = workspace_.read(file.path, image ? kLargestImage : kLargestFile);
    if (!bytes) return leave_out(file, "they could not be read");
    if (is_given(given_, file.path, *bytes)) return;
    if (image) {
      room_ -= std::min(room_, base64_size(bytes->size()));
      images_.push_back({{"path", file.path}, {"mime_type", type}, {"data", base64(*bytes)}});
      return;
    }
    left_ -= std::min(left_, bytes->size());
    files_.push_back(
        {{"path", file.path},
         {"mime_type", mime_type_of(file.path, *bytes)},
         {"size", bytes->size()},
         {"bytes", Json::binary(std::vector<std::uint8_t>(bytes->begin(), bytes->end()))}});
  }

  static std::string too_many() { return fmt::format("there are more than {}", kMostFiles); }

  const Workspace& workspace_;
  const GivenFiles& given_;
  Json images_ = Json::array(), files_ = Json::array();
  std::size_t room_, left_ = kMostBytes;
  std::map<std::string, std::size_t> left_out_;
};

}  // namespace

std::string image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.size() > 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP")
    return "image/webp";
  return "";
}

GivenFiles given_files(const std::vector<InputFile>& files) {
  GivenFiles given;
  for (const InputFile& file : files) given.emplace(file.path, sha256(file.bytes));
  return given;
}

void add_left_files(Json& output, const Workspace& workspace, const GivenFiles& given) {
  LeftFiles left(workspace, given, room_in(output));
  left.look();
  left.add_to(output);
}

void show_files(Json& output) {
  if (!output.is_object()) return;
  const auto files = output.find("files");
  if (files == output.end() || !files->is_array()) return;
  std::size_t left = kMostShown, room = room_in(output);
  for (Json& file : *files) {
    const auto bytes = file.find("bytes");
    if (bytes == file.end() || !bytes->is_binary()) continue;
    const auto& binary = bytes->get_binary();
    std::string data;
    const bool is_large = binary.size() > left;
    const bool fits = !is_large && base64_size(binary.size()) <= room;
    if (fits) {
      left -= binary.size();
      room -= base64_size(binary.size());
      data = base64({reinterpret_cast<const char*>(binary.data()), binary.size()});
    }
    file.erase("bytes");
    if (fits)
      file["data"] = std::move(data);
    else
      file["left_out"] = is_large
                             ? fmt::format("the files are larger than {} in all; MCP returns them",
                                           format_size(kMostShown))
                             : fmt::format("the output is larger than {} in all; MCP returns it",
                                           format_size(kMostOutputText));
  }
}

}  // namespace brig::serve
