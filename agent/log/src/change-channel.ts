/** Changes to a channel within a commit, inside the writer's transaction. */
import type { ChannelStatement } from './channel-sql.ts'
import type { ChannelValue } from './ask-channel.ts'
import type { ChannelChange } from './channels.ts'
import { Refusing } from './commit-rules.ts'
import type { StoredSession } from './session-rows.ts'

/** The guard of a change as a statement that affects a row; if it affects none, the change is rejected. */
export function guardOfChannel(
  row: StoredSession,
  at: number,
  first: number,
  change: ChannelChange,
): { name: ChannelStatement; values: ChannelValue[]; refusing: () => Refusing } {
  switch (change.do) {
    case 'channel.accept':
      return {
        name: 'acceptInbound',
        values: [change.seq, row.id, first],
        refusing: () =>
          new Refusing('already_accepted', `[commit] inbound row ${change.seq} was already processed`, row),
      }
    case 'channel.route':
      return {
        name: 'route',
        values: [row.id],
        refusing: () =>
          new Refusing('route_moved', `[commit] conversation of session ${row.id} has a newer one`, row),
      }
    case 'channel.disclosed':
      return {
        name: 'disclosed',
        values: [row.id, at],
        refusing: () =>
          new Refusing('already_accepted', `[commit] the disclosure of ${row.id} was already recorded`, row),
      }
  }
}
