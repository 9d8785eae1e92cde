/** The machine that the figures were measured on. */
import { cpus, release, totalmem } from 'node:os'

export type Machine = { cpu: string; cores: number; memory_gib: number; system: string; node: string }

export function describeMachine(): Machine {
  const all = cpus()
  return {
    cpu: all[0]?.model.trim() || 'unknown',
    cores: all.length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
  }
}

export const machineLine = ({ cpu, cores, memory_gib, system, node }: Machine): string =>
  `${cores} × ${cpu}, ${memory_gib} GiB, ${system}, Node ${node}`
