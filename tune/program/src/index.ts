/**
 * Programs: recorded, checked, differentiated, laid out in memory, printed and run.
 *
 * tensor   a value of a program, by id                  step     one op of a program
 * block    a span of steps that may be recomputed       arena    the memory of all tensors but bound ones
 * plan     offsets in the arena, found before a run     oracle   the same program in float64
 * stage    a part of a program that is run by itself
 */
export { ONE, type Gradient } from './gradient-context.ts'
export * from './add-into-sums.ts'
export * from './differentiate.ts'
export * from './divide-experts.ts'
export * from './execute.ts'
export * from './flatten.ts'
export * from './fuse-units.ts'
export * from './group-products.ts'
export * from './oracle/interpret.ts'
export * from './plan.ts'
export * from './program.ts'
export * from './recompute.ts'
export * from './record.ts'
export * from './stages.ts'
export * from './text.ts'
