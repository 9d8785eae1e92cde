/** The verifier of logs: rules that every session log and every session tree satisfies. */
export { checkHistory, type HistoryOptions } from './log-rules/check-history.ts'
export { checkTree, type TreeOptions } from './tree-rules/check-tree.ts'
export type { TreeRights } from './tree-rules/rights.ts'
