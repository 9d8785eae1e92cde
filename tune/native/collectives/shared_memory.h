// The transport for processes of one machine: a file in memory that all of them map.
#pragma once
#include <memory>

#include "transport.h"

namespace cairn::collectives {

/// Creates the memory of a group, and returns its file descriptor. Processes inherit it. No name remains in
/// any file system, so nothing is left behind when all of them are killed.
int create_group(int ranks);

/// Bytes of a group's memory, which is zero before the first rank joins.
size_t group_bytes(int ranks);

/// Joins the group of a file descriptor, which it closes. An operation throws Aborted if the others do not
/// arrive within `timeout_seconds`.
std::unique_ptr<Transport> join_group(int file, int rank, int ranks, double timeout_seconds);

}  // namespace cairn::collectives
