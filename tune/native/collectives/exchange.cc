#include <cstring>

#include "transport.h"

namespace cairn::collectives {

void Transport::exchange(
    const std::vector<Bytes>& sent, const std::vector<Bytes>& received, size_t largest) {
  std::vector<char> out(largest * sent.size()), in(out.size());
  for (size_t r = 0; r < sent.size(); r++)
    if (sent[r].count > 0) std::memcpy(out.data() + r * largest, sent[r].data, sent[r].count);
  all_to_all(out.data(), in.data(), largest);
  for (size_t r = 0; r < received.size(); r++)
    if (received[r].count > 0) std::memcpy(received[r].data, in.data() + r * largest, received[r].count);
}

}  // namespace cairn::collectives
