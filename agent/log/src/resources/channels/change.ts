/** The guards of channel changes within commits, each a statement that affects a row. */
import { Refusing } from '../../engine/refusing.ts'
import type { Guard } from '../../engine/named-sql.ts'
import type { ChangeContext, ChangeNamed, Resource } from '../../engine/resource.ts'
import type { ChannelChange, ChannelStore } from './row.ts'
import type { ChannelStatement } from './sql.ts'

export const channelChanges: Resource<ChannelChange, ChannelStore>['changes'] = {
  'channel.accept': {},
  'channel.route': {},
  'channel.disclosed': {},
}

type Guards = {
  [D in ChannelChange['do']]: (
    change: ChangeNamed<ChannelChange, D>,
    context: ChangeContext,
  ) => Guard<ChannelStatement>
}

export const channelGuards: Guards = {
  'channel.accept': ({ connection_id, seq }, { row, first }) => ({
    name: 'acceptInbound',
    values: [connection_id, seq, row.id, first],
    refusing: () =>
      new Refusing('already_accepted', `[commit] inbound row ${seq} was already processed`, row),
  }),
  'channel.route': (_change, { row }) => ({
    name: 'route',
    values: [row.id],
    refusing: () =>
      new Refusing('route_moved', `[commit] conversation of session ${row.id} has a newer one`, row),
  }),
  'channel.disclosed': (_change, { row, at }) => ({
    name: 'disclosed',
    values: [row.id, at],
    refusing: () =>
      new Refusing('already_accepted', `[commit] the disclosure of ${row.id} was already recorded`, row),
  }),
}
