/** The caller's own pins and saved views of the sessions. */
import {
  listSessionMarks,
  pinSession as pin,
  removeView as remove,
  saveView as save,
  unpinSession as unpin,
} from '@cairn/sessions'
import type { Handler } from '../handler.ts'

export const sessionMarks: Handler<'sessionMarks'> = ({ services, principal }) =>
  listSessionMarks(services, principal)
export const pinSession: Handler<'pinSession'> = ({ services, principal, params }) =>
  pin(services, params.id, principal)
export const unpinSession: Handler<'unpinSession'> = ({ services, principal, params }) =>
  unpin(services, params.id, principal)
export const saveView: Handler<'saveView'> = ({ services, principal, body }) =>
  save(services, body, principal)
export const removeView: Handler<'removeView'> = ({ services, principal, params }) =>
  remove(services, params.view_id, principal)
