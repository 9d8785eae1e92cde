type Run = (...args: unknown[]) => unknown
export function devCommands(start: Record<string, unknown>): Record<string, Run>
