/** The field of the first page in which a task is written, for the keys and buttons that lead to it. */
import { useSyncExternalStore } from 'react'
import { writeInto } from '../ui/write-into.ts'

export const TASK_FIELD = 'home-task'
/** The hidden field that opens the choice of files. */
export const FILE_FIELD = 'home-file-field'

/** The fragment of the address that gives the field the focus once the page is there. */
export const NEW_HASH = 'new'

/** False if the field is not on this page. */
export function focusTask(): boolean {
  const field = document.getElementById(TASK_FIELD)
  field?.focus()
  return field !== null
}

/** Writes a task that the reader completes. */
export const prefillTask = (text: string): void => writeInto(document.getElementById(TASK_FIELD), text)

let isMission = false
const listeners = new Set<() => void>()

function setMission(is: boolean): void {
  isMission = is
  for (const listener of listeners) listener()
}

/** The next task is a mission. */
export const requestMission = (): void => setMission(true)

/** Whether the task is written as a mission, which also the palette decides. */
export function useMissionMode(): [boolean, (is: boolean) => void] {
  const is = useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isMission,
  )
  return [is, setMission]
}
