#include "nccl.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <type_traits>

namespace cairn::device {

namespace {

constexpr int kSuccessful = 0, kBytes = 0;  // ncclSuccess, ncclInt8

}  // namespace

struct NcclLibrary {
  int (*unique_id)(NcclId*) = nullptr;
  // The id is passed by value, as a structure of 128 bytes.
  int (*init)(void** comm, int ranks, NcclId id, int rank) = nullptr;
  int (*destroy)(void* comm) = nullptr;
  int (*abort)(void* comm) = nullptr;
  int (*async_error)(void* comm, int* error) = nullptr;
  int (*send)(const void* at, size_t count, int type, int peer, void* comm, CUstream stream) = nullptr;
  int (*receive)(void* at, size_t count, int type, int peer, void* comm, CUstream stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*error_text)(int) = nullptr;
};

namespace {

NcclLibrary open_library(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    throw std::runtime_error("NCCL was not found (" + std::string(why ? why : path.c_str()) +
                             "); install libnccl2, or name the library in CAIRN_TUNE_NCCL");
  }
  NcclLibrary nccl;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (!function) throw std::runtime_error("the NCCL library " + path + " has no " + name);
  };
  find(nccl.unique_id, "ncclGetUniqueId");
  find(nccl.init, "ncclCommInitRank");
  find(nccl.destroy, "ncclCommDestroy");
  find(nccl.abort, "ncclCommAbort");
  find(nccl.async_error, "ncclCommGetAsyncError");
  find(nccl.send, "ncclSend");
  find(nccl.receive, "ncclRecv");
  find(nccl.group_start, "ncclGroupStart");
  find(nccl.group_end, "ncclGroupEnd");
  find(nccl.error_text, "ncclGetErrorString");
  return nccl;
}

const NcclLibrary& library_at(const std::string& given) {
  static std::mutex mutex;
  static auto& libraries = *new std::map<std::string, NcclLibrary>;
  std::lock_guard lock(mutex);
  const std::string path = given.empty() ? "libnccl.so.2" : given;
  auto known = libraries.find(path);
  if (known == libraries.end()) known = libraries.emplace(path, open_library(path)).first;
  return known->second;
}

void check_call(const NcclLibrary& nccl, int result, const char* doing) {
  if (result != kSuccessful)
    throw std::runtime_error(std::string("NCCL, ") + doing + ": " + nccl.error_text(result));
}

}  // namespace

NcclId create_nccl_id(const std::string& library) {
  const NcclLibrary& nccl = library_at(library);
  NcclId id{};
  check_call(nccl, nccl.unique_id(&id), "naming the group");
  return id;
}

Communicator::Communicator(
    std::shared_ptr<Card> card, const std::string& library, NcclId id, int rank, int ranks)
    : card_(std::move(card)), nccl_(library_at(library)) {
  card_->use();
  check(nccl_.init(&comm_, ranks, id, rank), "joining the group");
}

Communicator::~Communicator() {
  // An aborted group is freed already.
  if (comm_ && !aborted_) nccl_.destroy(comm_);
}

void Communicator::check(int result, const char* doing) const { check_call(nccl_, result, doing); }

void Communicator::exchange(const std::vector<CardBytes>& sent, const std::vector<CardBytes>& received) {
  card_->use();
  const auto check_alive = [&] {
    if (aborted_) throw std::runtime_error("ended while exchanging bytes between cards");
  };
  check_alive();
  check(nccl_.group_start(), "starting an exchange");
  for (size_t r = 0; r < sent.size(); r++)
    if (sent[r].bytes)
      check(nccl_.send(sent[r].at, sent[r].bytes, kBytes, int(r), comm_, card_->stream()), "sending");
  for (size_t r = 0; r < received.size(); r++)
    if (received[r].bytes)
      check(nccl_.receive(received[r].at, received[r].bytes, kBytes, int(r), comm_, card_->stream()),
          "receiving");
  const int result = nccl_.group_end();
  check_alive();
  check(result, "exchanging");
  card_->wait("exchanging bytes between cards");
  check_alive();
  int error = kSuccessful;
  check(nccl_.async_error(comm_, &error), "asking for errors");
  check(error, "exchanging");
}

void Communicator::abort() {
  if (!aborted_.exchange(true)) nccl_.abort(comm_);
}

}  // namespace cairn::device
