// The transport between machines: an MPI library that is opened at run time.
#pragma once
#include <memory>
#include <string>

#include "transport.h"

namespace cairn::collectives {

/// Opens MPI and joins the ranks that its launcher started. Throws one sentence if the library is missing.
/// `library` is its path, or empty for the usual names.
std::unique_ptr<Transport> join_mpi(const std::string& library);

}  // namespace cairn::collectives
