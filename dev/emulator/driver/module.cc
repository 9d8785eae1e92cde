// Modules of PTX text. Loading allocates variables and decodes kernels, so an unknown instruction is rejected
// at that time.
#include <cstring>
#include <unordered_set>

#include "../machine/decode.h"
#include "../machine/memory.h"
#include "state.h"

using namespace emulator;

namespace {

void place_variables(CUmod_st& module, Symbols& symbols) {
  for (const Variable& variable : module.ptx.variables) {
    if (variable.space == Space::shared) continue;
    u64 at = DeviceMemory::get().allocate(std::max<u64>(variable.size, 1));
    if (!at) throw Refusal("no memory for " + variable.name);
    auto* bytes = reinterpret_cast<u8*>(at);
    std::memset(bytes, 0, variable.size);
    std::memcpy(bytes, variable.initial.data(), variable.initial.size());
    module.globals.push_back({variable.name, {at, variable.size}});
    symbols[variable.name] = {variable.space, at};
  }
  for (const Variable& variable : module.ptx.variables) {
    for (const Variable::Pointer& pointer : variable.pointers) {
      auto found = symbols.find(pointer.name);
      if (found == symbols.end())
        throw Refusal(variable.name + " points at " + pointer.name + ", which is not here");
      u64 value = found->second.at + u64(pointer.offset);
      std::memcpy(reinterpret_cast<u8*>(symbols.at(variable.name).at) + pointer.at, &value, 8);
    }
  }
}

void collect_names(const Operand& operand, std::unordered_set<std::string>& names) {
  names.insert(operand.name);
  for (const Operand& item : operand.items) collect_names(item, names);
}

// A kernel gets the shared variables of the module that it names, or that a function it may call names.
std::unordered_set<std::string> names_of(const Module& module, const Function& kernel) {
  std::unordered_set<std::string> names;
  for (const Function& function : module.functions) {
    if (function.is_entry && &function != &kernel) continue;
    for (const Statement& statement : function.body)
      for (const Operand& operand : statement.operands) collect_names(operand, names);
  }
  return names;
}

// Dynamic shared memory starts after a kernel's static shared memory, so its variables are placed per kernel.
CUfunc_st* decode(CUmod_st& module, const Function& kernel, Symbols symbols) {
  auto round_to = [](u32 at, u32 align) { return (at + align - 1) / align * align; };
  std::unordered_set<std::string> names = names_of(module.ptx, kernel);
  u32 shared_bytes = 0, align = 16;
  for (const Variable& variable : module.ptx.variables) {
    if (variable.space != Space::shared || !names.contains(variable.name)) continue;
    if (variable.is_unsized) {
      align = std::max(align, variable.align);
      continue;
    }
    shared_bytes = round_to(shared_bytes, variable.align);
    symbols[variable.name] = {Space::shared, shared_bytes};
    shared_bytes += u32(variable.size);
  }
  u32 end = shared_bytes;
  for (const Variable& variable : kernel.variables)
    if (variable.space == Space::shared) end = round_to(end, variable.align) + u32(variable.size);
  end = round_to(end, align);
  for (const Variable& variable : module.ptx.variables)
    if (variable.space == Space::shared && variable.is_unsized) symbols[variable.name] = {Space::shared, end};
  auto function = std::make_unique<CUfunc_st>();
  function->module = &module;
  function->code = decode_kernel(module.ptx, kernel, symbols, shared_bytes);
  function->code.shared_bytes = std::max(function->code.shared_bytes, end);
  module.functions.push_back(std::move(function));
  return module.functions.back().get();
}

void release(CUmod_st& module) {
  for (const auto& [name, place] : module.globals) DeviceMemory::get().release(place.first);
}

void check_target(const std::string& target) {
  const Limits& limits = Limits::get();
  int card = limits.major * 10 + limits.minor, asked = std::atoi(target.c_str() + 3);
  bool is_exact = target.back() == 'a';
  if (asked > card || (is_exact && asked != card))
    throw Refusal("the PTX is for " + target + ", and this card has compute capability " +
                  std::to_string(limits.major) + "." + std::to_string(limits.minor));
}

}  // namespace

CUDA_API CUresult cuModuleLoadData(CUmodule* to, const void* image) {
  if (CUresult code = poisoned()) return code;
  const auto* bytes = static_cast<const unsigned char*>(image);
  bool is_elf = std::memcmp(bytes,
                    "\x7f"
                    "ELF",
                    4) == 0,
       is_fatbin = std::memcmp(bytes, "\x50\xed\x55\xba", 4) == 0;
  if (is_elf || is_fatbin)
    return fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
        "the emulator runs PTX text; this image is a cubin or a fat binary, which only a card runs");
  auto module = std::make_unique<CUmod_st>();
  try {
    module->ptx = parse_ptx(static_cast<const char*>(image));
    check_target(module->ptx.target);
    Symbols symbols;
    place_variables(*module, symbols);
    for (const Function& function : module->ptx.functions)
      if (function.is_entry) decode(*module, function, symbols);
  } catch (const Refusal& refusal) {
    release(*module);
    return fail(CUDA_ERROR_INVALID_PTX, refusal.what());
  }
  *to = module.release();
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuModuleLoadDataEx(
    CUmodule* to, const void* image, unsigned count, int* options, void** values) {
  CUresult code = cuModuleLoadData(to, image);
  // 5 and 6: a buffer for the compiler's messages, and its size.
  char* buffer = nullptr;
  size_t size = 0;
  for (unsigned k = 0; k < count; ++k) {
    if (options[k] == 5) buffer = static_cast<char*>(values[k]);
    if (options[k] == 6) size = reinterpret_cast<size_t>(values[k]);
  }
  if (code && buffer && size) {
    std::strncpy(buffer, cairnEmulatorMessage(), size - 1);
    buffer[size - 1] = 0;
  }
  return code;
}

CUDA_API CUresult cuModuleUnload(CUmodule module) {
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  release(*module);
  delete module;
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuModuleGetFunction(CUfunction* to, CUmodule module, const char* name) {
  for (const auto& function : module->functions) {
    if (function->code.kernel != name) continue;
    *to = function.get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUDA_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* at, size_t* bytes, CUmodule module, const char* name) {
  for (const auto& [known, place] : module->globals) {
    if (known != name) continue;
    if (at) *at = place.first;
    if (bytes) *bytes = place.second;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUDA_API CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  if (attribute != 8) return CUDA_SUCCESS;  // hints about the cache
  u32 max_bytes = Limits::get().shared_opt_in;
  if (value < 0 || u32(value) + function->code.shared_bytes > max_bytes)
    return fail(CUDA_ERROR_INVALID_VALUE, function->code.kernel + " asks for " + std::to_string(value) +
                                              " bytes of shared memory; a block has " +
                                              std::to_string(max_bytes));
  function->shared_allowed = u32(value) + function->code.shared_bytes;
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  switch (attribute) {
    case 0:
      *value = int(function->code.max_threads ? function->code.max_threads : Limits::get().threads);
      break;
    case 1:
      *value = int(function->code.shared_bytes);
      break;
    case 3:
      *value = int(function->code.local_bytes);
      break;
    case 8:
      *value = int(function->shared_allowed - function->code.shared_bytes);
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
