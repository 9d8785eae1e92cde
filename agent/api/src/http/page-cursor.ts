/**
 * Page cursors for clients: the store's cursor with a checksum over it and its route. A damaged or forged
 * cursor, or one of another listing, is rejected; the store would take many of them for a position after the
 * newest row and return the first page again.
 */
import { crc32 } from 'node:zlib'
import { AppError, type RouteName } from '@cairn/protocol'

const checksum = (route: RouteName, cursor: string): string => crc32(`${route} ${cursor}`).toString(36)

export const sealCursor = (route: RouteName, cursor: string): string => `${cursor}~${checksum(route, cursor)}`

export function openCursor(route: RouteName, sealed: string): string {
  const at = sealed.lastIndexOf('~')
  const cursor = sealed.slice(0, Math.max(at, 0))
  if (at < 1 || sealed.slice(at + 1) !== checksum(route, cursor))
    throw new AppError(
      'invalid_cursor',
      `Invalid cursor ${JSON.stringify(sealed.slice(0, 200))}: use the next_cursor of this list, ` +
        'or omit it for the first page.',
      { extra: { errors: [{ path: 'cursor', message: 'must be the next_cursor of this list' }] } },
    )
  return cursor
}
