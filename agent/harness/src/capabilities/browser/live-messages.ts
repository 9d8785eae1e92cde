/** Messages between a live view and its browser. Frames are binary; these are the others. */
import { z } from 'zod'

const place = { x: z.number().min(0).max(10_000), y: z.number().min(0).max(10_000) }
/** Bit mask as in the debugging protocol: Alt 1, Control 2, Meta 4, Shift 8. */
const mods = z.int().min(0).max(15).default(0)

export const FromViewer = z.discriminatedUnion('t', [
  z.strictObject({ t: z.literal('ack'), seq: z.int() }),
  z.strictObject({
    t: z.literal('mouse'),
    kind: z.enum(['move', 'down', 'up', 'wheel']),
    ...place,
    button: z.enum(['none', 'left', 'middle', 'right']).default('none'),
    clicks: z.int().min(0).max(3).default(1),
    dx: z.number().default(0),
    dy: z.number().default(0),
    mods,
  }),
  z.strictObject({
    t: z.literal('key'),
    kind: z.enum(['down', 'up']),
    key: z.string().max(40),
    code: z.string().max(40).default(''),
    text: z.string().max(8).default(''),
    mods,
  }),
  z.strictObject({ t: z.literal('paste'), text: z.string().max(100_000) }),
  z.strictObject({
    t: z.literal('tab'),
    action: z.enum(['show', 'close', 'new']),
    index: z.int().min(0).default(0),
  }),
  z.strictObject({ t: z.literal('nav'), action: z.enum(['back', 'forward', 'reload']) }),
  z.strictObject({ t: z.literal('go'), url: z.string().max(8000) }),
  z.strictObject({ t: z.literal('dialog'), accept: z.boolean(), text: z.string().max(10_000).optional() }),
])
export type FromViewer = z.output<typeof FromViewer>

export type Tab = { url: string; title: string; front: boolean }
export type ToViewer =
  | { t: 'hello'; browser_id: string; width: number; height: number }
  | { t: 'tabs'; tabs: Tab[] }
  | { t: 'control'; holder: string | null; yours: boolean }
  | { t: 'dialog'; kind: string; message: string }
  | { t: 'failed'; message: string }
  | { t: 'bye'; reason: string }

const HEADER_BYTES = 8

/** u32 seq · u16 width · u16 height · JPEG. */
export function encodeFrame(frame: { seq: number; width: number; height: number; jpeg: Buffer }): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32BE(frame.seq >>> 0, 0)
  header.writeUInt16BE(frame.width, 4)
  header.writeUInt16BE(frame.height, 6)
  return Buffer.concat([header, frame.jpeg])
}
