#include "model/io/files_read.h"

#include <stdexcept>

namespace stepsight {

namespace {

thread_local std::map<std::string, std::string>* collected = nullptr;

}  // namespace

FilesRead::FilesRead() {
  if (collected != nullptr) throw std::logic_error("files are collected already");
  collected = &by_path_;
}

FilesRead::~FilesRead() {
  collected = nullptr;
}

void FilesRead::note(const std::string& path, std::string_view text) {
  if (collected != nullptr) collected->insert_or_assign(path, std::string(text));
}

void FilesRead::note_builtin(std::string_view path, std::string_view text) {
  if (collected != nullptr) note("scenarios/" + std::string(path), text);
}

}  // namespace stepsight
