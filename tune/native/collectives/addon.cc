// The JavaScript interface of collectives. An operation runs on one of Node's own threads, so that a rank
// that waits for the others still receives signals and messages.
#include <functional>

#include "../binding/napi.h"
#include "mpi.h"
#include "shared_memory.h"

namespace cairn::collectives {

namespace {

using namespace cairn::binding;

struct Group {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<OrderedSums> sums;
};

struct GroupHandle {
  std::shared_ptr<Group> group;
};

std::shared_ptr<Group> group_of(napi_env env, napi_value value) {
  auto& handle = external_of<GroupHandle>(env, value);
  if (!handle.group) throw std::runtime_error("the group of ranks is closed");
  return handle.group;
}

napi_value wrap(napi_env env, std::unique_ptr<Transport> transport) {
  auto group = std::make_shared<Group>();
  group->transport = std::move(transport);
  group->sums = std::make_unique<OrderedSums>(*group->transport);
  return make_external(env, new GroupHandle{std::move(group)});
}

// An operation in progress. It keeps the memory that it uses and the group alive.
struct Operation {
  std::shared_ptr<Group> group;
  std::function<void(Group&)> body;
  std::string error;
  napi_async_work work = nullptr;
  napi_ref callback = nullptr, memory = nullptr;
};

void execute(napi_env, void* data) {
  auto& operation = *static_cast<Operation*>(data);
  try {
    operation.body(*operation.group);
  } catch (const std::exception& error) {
    operation.error = error.what();
  }
}

void complete(napi_env env, napi_status, void* data) {
  std::unique_ptr<Operation> operation(static_cast<Operation*>(data));
  napi_value undefined, callback, argument;
  napi_get_undefined(env, &undefined);
  argument = undefined;
  napi_get_reference_value(env, operation->callback, &callback);
  napi_delete_reference(env, operation->callback);
  napi_delete_reference(env, operation->memory);
  napi_delete_async_work(env, operation->work);
  if (!operation->error.empty()) {
    napi_value text;
    napi_create_string_utf8(env, operation->error.data(), operation->error.size(), &text);
    napi_create_error(env, nullptr, text, &argument);
  }
  napi_call_function(env, undefined, callback, 1, &argument, nullptr);
}

// `memory`: the views that the operation uses, as an array or one of them.
napi_value start(napi_env env, napi_value group, napi_value memory, napi_value callback,
    std::function<void(Group&)> body) {
  auto operation = std::make_unique<Operation>();
  operation->group = group_of(env, group);
  operation->body = std::move(body);
  check(env, napi_create_reference(env, memory, 1, &operation->memory));
  check(env, napi_create_reference(env, callback, 1, &operation->callback));
  check(env, napi_create_async_work(env, nullptr, make_string(env, "cairn collective"), execute, complete,
                 operation.get(), &operation->work));
  check(env, napi_queue_async_work(env, operation->work));
  operation.release();
  return make_undefined(env);
}

// createGroup(ranks): a file descriptor
napi_value create(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  return make_number(env, create_group(int(number_of(env, args.value[0]))));
}

// joinGroup(file descriptor, rank, ranks, timeout in seconds)
napi_value join(napi_env env, napi_callback_info info) {
  Args<4> args(env, info);
  return wrap(env, join_group(int(number_of(env, args.value[0])), int(number_of(env, args.value[1])),
                       int(number_of(env, args.value[2])), number_of(env, args.value[3])));
}

// joinMpi(library)
napi_value join_launched(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  return wrap(env, join_mpi(string_of(env, args.value[0])));
}

napi_value rank(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  return make_number(env, group_of(env, args.value[0])->transport->rank());
}

napi_value ranks(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  return make_number(env, group_of(env, args.value[0])->transport->ranks());
}

std::vector<Floats> floats_in(napi_env env, napi_value views) {
  std::vector<Floats> buffers;
  uint32_t count = 0;
  check(env, napi_get_array_length(env, views, &count));
  for (uint32_t i = 0; i < count; i++) {
    napi_value element;
    check(env, napi_get_element(env, views, i, &element));
    const auto floats = span_of<float>(env, element);
    if (floats.count > 0) buffers.push_back({floats.data, floats.count});
  }
  return buffers;
}

// addRound(group, views of f32, whether it is the first round, done)
napi_value add_round(napi_env env, napi_callback_info info) {
  Args<4> args(env, info);
  bool is_first = false;
  check(env, napi_get_value_bool(env, args.value[2], &is_first));
  return start(env, args.value[0], args.value[1], args.value[3],
      [buffers = floats_in(env, args.value[1]), is_first](Group& group) {
        group.sums->add(buffers, is_first);
      });
}

// takeSums(group, views of f32, done)
napi_value take_sums(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  return start(env, args.value[0], args.value[1], args.value[2],
      [buffers = floats_in(env, args.value[1])](Group& group) { group.sums->take(buffers); });
}

// Keeps two values alive as one.
napi_value both(napi_env env, napi_value first, napi_value second) {
  napi_value values;
  check(env, napi_create_array_with_length(env, 2, &values));
  check(env, napi_set_element(env, values, 0, first));
  check(env, napi_set_element(env, values, 1, second));
  return values;
}

// allGather(group, mine, all, done). `all` has room for a part of each rank.
napi_value all_gather(napi_env env, napi_callback_info info) {
  Args<4> args(env, info);
  const auto mine = bytes_of(env, args.value[1]), all = bytes_of(env, args.value[2]);
  const size_t count = size_t(group_of(env, args.value[0])->transport->ranks());
  if (mine.count * count != all.count)
    throw std::runtime_error(std::to_string(mine.count) + " bytes sent and " + std::to_string(all.count) +
                             " received do not fit " + std::to_string(count) + " ranks");
  return start(env, args.value[0], both(env, args.value[1], args.value[2]), args.value[3],
      [=](Group& group) { group.transport->all_gather(mine.data, all.data, mine.count); });
}

// One view per rank.
std::vector<Bytes> parts_in(napi_env env, napi_value views, size_t ranks, size_t largest) {
  uint32_t count = 0;
  check(env, napi_get_array_length(env, views, &count));
  if (count != ranks)
    throw std::runtime_error(std::to_string(count) + " parts for " + std::to_string(ranks) + " ranks");
  std::vector<Bytes> parts;
  for (uint32_t i = 0; i < count; i++) {
    napi_value element;
    check(env, napi_get_element(env, views, i, &element));
    const auto bytes = bytes_of(env, element);
    if (bytes.count > largest)
      throw std::runtime_error("a part of " + std::to_string(bytes.count) + " bytes is larger than " +
                               std::to_string(largest));
    parts.push_back({bytes.data, bytes.count});
  }
  return parts;
}

// exchange(group, views sent, views received, bytes of the largest part, done)
napi_value exchange(napi_env env, napi_callback_info info) {
  Args<5> args(env, info);
  const size_t count = size_t(group_of(env, args.value[0])->transport->ranks()),
               largest = size_t(number_of(env, args.value[3]));
  return start(env, args.value[0], both(env, args.value[1], args.value[2]), args.value[4],
      [sent = parts_in(env, args.value[1], count, largest),
          received = parts_in(env, args.value[2], count, largest),
          largest](Group& group) { group.transport->exchange(sent, received, largest); });
}

// broadcast(group, view, root, done)
napi_value broadcast(napi_env env, napi_callback_info info) {
  Args<4> args(env, info);
  const auto bytes = bytes_of(env, args.value[1]);
  const int root = int(number_of(env, args.value[2]));
  if (root < 0 || root >= group_of(env, args.value[0])->transport->ranks())
    throw std::runtime_error("broadcast from rank " + std::to_string(root) + ", which does not exist");
  return start(env, args.value[0], args.value[1], args.value[3],
      [=](Group& group) { group.transport->broadcast(bytes.data, bytes.count, root); });
}

// barrier(group, done)
napi_value barrier(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  return start(env, args.value[0], args.value[1], args.value[1],
      [](Group& group) { group.transport->barrier(); });
}

napi_value abort(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  group_of(env, args.value[0])->transport->abort();
  return make_undefined(env);
}

// leave(group, done): the last operation of a rank that has finished.
napi_value leave(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  return start(
      env, args.value[0], args.value[1], args.value[1], [](Group& group) { group.transport->leave(); });
}

napi_value initialise(napi_env env, napi_value exports) {
  try {
    export_function<create>(env, exports, "createGroup");
    export_function<join>(env, exports, "joinGroup");
    export_function<join_launched>(env, exports, "joinMpi");
    export_function<rank>(env, exports, "rank");
    export_function<ranks>(env, exports, "ranks");
    export_function<add_round>(env, exports, "addRound");
    export_function<take_sums>(env, exports, "takeSums");
    export_function<all_gather>(env, exports, "allGather");
    export_function<exchange>(env, exports, "exchange");
    export_function<broadcast>(env, exports, "broadcast");
    export_function<barrier>(env, exports, "barrier");
    export_function<abort>(env, exports, "abort");
    export_function<leave>(env, exports, "leave");
  } catch (const Pending&) {
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return exports;
}

}  // namespace

}  // namespace cairn::collectives

NAPI_MODULE_INIT() { return cairn::collectives::initialise(env, exports); }
