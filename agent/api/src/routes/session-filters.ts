/** Filters of list and search, translated for the store. */
import type { SessionQuery } from '@cairn/log'
import type { ROUTES } from '@cairn/protocol'
import type { z } from 'zod'

type Given = Pick<
  z.output<(typeof ROUTES)['listSessions']['query']>,
  'status' | 'state' | 'agent' | 'channel' | 'min_cost_usd' | 'since' | 'until' | 'parent_id' | 'sort'
>
type Filters = Omit<SessionQuery, 'org_id' | 'created_by' | 'limit' | 'cursor' | 'text'>

export const filtersOf = (given: Given): Filters => {
  const { status, state, agent, channel, min_cost_usd, since, until, parent_id, sort } = given
  return {
    ...(status && { status }),
    ...(state && { state }),
    ...(agent && { agent }),
    ...(channel && { channel }),
    ...(min_cost_usd !== undefined && { min_cost_usd }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(parent_id !== undefined && { parent_id: parent_id === 'none' ? null : parent_id }),
    ...(sort && { sort }),
  }
}
