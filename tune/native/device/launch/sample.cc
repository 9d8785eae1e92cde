// sample.
#include "../../cuda/sample.h"

#include <stdexcept>

#include "launchers.h"

namespace cairn::device {

void sample(DeviceCall& call) {
  const Tensor &logits = *call.in[sample_in::logits], &edits = *call.in[sample_in::edits],
               &mask = *call.in[sample_in::mask];
  const int64_t rows = logits.dims[0], vocab = logits.dims[1];
  const int32_t top = SampleAttrs::read(call.attrs).top;
  if (top < 1 || top > vocab) throw std::runtime_error("top must be from 1 to the size of the vocabulary");
  if (mask.dims[1] != blocks_of(vocab, 32)) throw std::runtime_error("a mask has a bit for each token");
  const cuda::Sample params{data_of<float>(logits), data_of<int32_t>(call.in[sample_in::forced]),
      data_of<float>(call.in[sample_in::choice]), data_of<int32_t>(call.in[sample_in::draw]),
      data_of<int32_t>(edits), data_of<float>(call.in[sample_in::edit_by]),
      data_of<int32_t>(call.in[sample_in::masked]), data_of<int32_t>(mask),
      data_of<int32_t>(call.out[sample_out::token]), data_of<float>(call.out[sample_out::logprob]),
      data_of<int32_t>(call.out[sample_out::top_tokens]), data_of<float>(call.out[sample_out::top_logprobs]),
      call.scratch<float>(0, rows * vocab), call.scratch<float>(1, rows * vocab), call.fault_word(), rows,
      vocab, edits.dims[0], mask.dims[0], mask.dims[1], top,
      call.fault("a forced token lies outside the vocabulary"),
      call.fault("an edited token lies outside the vocabulary"),
      call.fault("a row names a mask that does not exist"), call.fault("a mask allows no token"), 0};
  call.launch("sample", "sample", {rows}, 1024, params);
}

}  // namespace cairn::device
