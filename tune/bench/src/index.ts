/**
 * What a run is worth: accuracy over HTTP, throughput tables, and the demonstration that makes its own model and data.
 *
 * cell        one model in one recipe                     baseline   the same run by another program
 * generation  one reply of an evaluation, kept for audit  strict     the answer after "####", as the task asks for it
 */
export { evaluate, completionsUrl, AUDIT_FILE, RESULTS_FILE, type EvalOptions, type EvalProgress, type EvalResult, type Question } from './eval/evaluate.ts'
export { FILTERS, extractAnswer, gsm8kRequest, isExactMatch, scoreOf, type FilterName, type Score } from './eval/gsm8k.ts'
