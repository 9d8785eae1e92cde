/** The behaviour of every durable log, whatever stores it. Each implementation runs the whole suite. */
import { describe } from 'vitest'
import { defineAccounts } from './conformance/accounts.ts'
import { defineBoards } from './conformance/board.ts'
import { defineCodeRuns } from './conformance/code-runs.ts'
import { defineBrowsers } from './conformance/browsers.ts'
import { defineChannels } from './conformance/channels.ts'
import { defineConnections } from './conformance/connections.ts'
import { makeBench } from './conformance/bench.ts'
import { defineDamage } from './conformance/damage.ts'
import { defineFairness } from './conformance/fairness.ts'
import type { Implementation } from './conformance/fixture.ts'
import { defineFamilies } from './conformance/trees.ts'
import { defineInbox } from './conformance/inbox.ts'
import { defineLeases } from './conformance/leases.ts'
import { defineLinking } from './conformance/linking.ts'
import { defineNotifications } from './conformance/notifications.ts'
import { defineReading } from './conformance/reading.ts'
import { defineSchedules } from './conformance/schedules.ts'
import { defineSearching } from './conformance/searching.ts'
import { defineSharing } from './conformance/sharing.ts'
import { defineUpkeep } from './conformance/maintenance.ts'
import { defineSnapshots } from './conformance/snapshots.ts'
import { defineState } from './conformance/state.ts'
import { defineMarks } from './conformance/marks.ts'
import { defineMcpAccounts } from './conformance/mcp-accounts.ts'
import { defineSettings } from './conformance/settings.ts'
import { defineMissions } from './conformance/missions.ts'
import { defineResearch } from './conformance/research.ts'
import { defineTasks } from './conformance/tasks.ts'
import { defineWriting } from './conformance/writing.ts'

export function defineLogConformance(name: string, implementation: Implementation): void {
  describe(name, () => {
    const bench = makeBench(implementation)
    describe('writing', () => defineWriting(bench))
    describe('reading', () => defineReading(bench))
    describe('linking', () => defineLinking(bench))
    describe('tasks', () => defineTasks(bench))
    describe('missions', () => defineMissions(bench))
    describe('research', () => defineResearch(bench))
    describe('schedules', () => defineSchedules(bench))
    describe('code runs', () => defineCodeRuns(bench))
    describe('boards', () => defineBoards(bench))
    describe('browsers', () => defineBrowsers(bench))
    describe('damage', () => defineDamage(bench))
    describe('channels', () => defineChannels(bench))
    describe('connections', () => defineConnections(bench))
    describe('session trees', () => defineFamilies(bench))
    describe('leases', () => defineLeases(bench))
    describe('fairness', () => defineFairness(bench))
    describe('inbox', () => defineInbox(bench))
    describe('notifications', () => defineNotifications(bench))
    describe('marks and push', () => defineMarks(bench))
    describe('MCP accounts', () => defineMcpAccounts(bench))
    describe('settings', () => defineSettings(bench))
    describe('searching', () => defineSearching(bench))
    describe('state', () => defineState(bench))
    describe('snapshots', () => defineSnapshots(bench))
    describe('maintenance', () => defineUpkeep(bench))
    describe('accounts', () => defineAccounts(bench))
    if (implementation.kind === 'shared') describe('sharing', () => defineSharing(bench))
  })
}
