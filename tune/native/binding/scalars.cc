// The scalar codecs and Philox, for tests and small tables. Whole weights go through the quantize and
// dequantize ops.
#include "scalars.h"

#include "codecs.h"
#include "napi.h"
#include "philox.h"

namespace cairn::binding {

namespace {

const Minifloat* minifloat_named(const std::string& name) {
  if (name == "e4m3") return &kE4m3;
  if (name == "e5m2") return &kE5m2;
  if (name == "e2m1") return &kE2m1;
  return nullptr;
}

float decode_one(const std::string& format, int code) {
  if (auto* minifloat = minifloat_named(format)) return decode_minifloat(*minifloat, code);
  if (format == "e8m0") return decode_e8m0(code);
  if (format == "nf4") return kNf4Table[code & 15];
  throw std::runtime_error("no codec is called " + format + "; there are bf16, e4m3, e5m2, e2m1, e8m0, nf4");
}

int encode_one(const std::string& format, float value) {
  if (auto* minifloat = minifloat_named(format)) return encode_minifloat(*minifloat, value);
  if (format == "e8m0") return encode_e8m0(value);
  if (format == "nf4") return encode_nearest(kNf4Table, 16, value);
  throw std::runtime_error("no codec is called " + format + "; there are bf16, e4m3, e5m2, e2m1, e8m0, nf4");
}

void check_lengths(size_t codes, size_t values) {
  if (codes != values)
    throw std::runtime_error(
        "expects as many codes as values, got " + std::to_string(codes) + " and " + std::to_string(values));
}

napi_value decode(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  std::string format = string_of(env, args.value[0]);
  auto out = span_of<float>(env, args.value[2]);
  if (format == "bf16") {
    auto codes = span_of<uint16_t>(env, args.value[1]);
    check_lengths(codes.count, out.count);
    for (size_t i = 0; i < out.count; i++) out.data[i] = decode_bf16(codes.data[i]);
  } else {
    auto codes = span_of<uint8_t>(env, args.value[1]);
    check_lengths(codes.count, out.count);
    for (size_t i = 0; i < out.count; i++) out.data[i] = decode_one(format, codes.data[i]);
  }
  return make_undefined(env);
}

napi_value encode(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  std::string format = string_of(env, args.value[0]);
  auto values = span_of<float>(env, args.value[1]);
  if (format == "bf16") {
    auto codes = span_of<uint16_t>(env, args.value[2]);
    check_lengths(codes.count, values.count);
    for (size_t i = 0; i < values.count; i++) codes.data[i] = encode_bf16(values.data[i]);
  } else {
    auto codes = span_of<uint8_t>(env, args.value[2]);
    check_lengths(codes.count, values.count);
    for (size_t i = 0; i < values.count; i++) codes.data[i] = uint8_t(encode_one(format, values.data[i]));
  }
  return make_undefined(env);
}

napi_value encode_stochastic(napi_env env, napi_callback_info info) {
  Args<4> args(env, info);
  std::string format = string_of(env, args.value[0]);
  auto values = span_of<float>(env, args.value[1]), uniforms = span_of<float>(env, args.value[2]);
  auto codes = span_of<uint8_t>(env, args.value[3]);
  check_lengths(codes.count, values.count);
  check_lengths(codes.count, uniforms.count);
  auto* minifloat = minifloat_named(format);
  if (!minifloat)
    throw std::runtime_error("stochastic rounding is there for e4m3, e5m2 and e2m1, not for " + format);
  for (size_t i = 0; i < values.count; i++)
    codes.data[i] = uint8_t(encode_minifloat(*minifloat, values.data[i], uniforms.data[i]));
  return make_undefined(env);
}

napi_value philox_words(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  auto counter = span_of<uint32_t>(env, args.value[0]), key = span_of<uint32_t>(env, args.value[1]),
       out = span_of<uint32_t>(env, args.value[2]);
  if (counter.count != 4 || key.count != 2 || out.count != 4)
    throw std::runtime_error("philox takes a counter of 4 words, a key of 2 and an output of 4");
  Words4 words = philox(
      {{counter.data[0], counter.data[1], counter.data[2], counter.data[3]}}, key.data[0], key.data[1]);
  std::memcpy(out.data, words.word, sizeof words.word);
  return make_undefined(env);
}

}  // namespace

void export_scalars(napi_env env, napi_value exports) {
  export_function<decode>(env, exports, "decode");
  export_function<encode>(env, exports, "encode");
  export_function<encode_stochastic>(env, exports, "encodeStochastic");
  export_function<philox_words>(env, exports, "philox");
}

}  // namespace cairn::binding
