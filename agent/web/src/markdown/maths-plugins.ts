/** What reads and draws formulas. Loaded with the first text that may hold one. */
import rehypeKatex from 'rehype-katex'
import remarkMath from 'remark-math'

/**
 * A formula that is wrong is shown as it was written. MathML: the browser draws it, without style attributes,
 * which the policy of the page refuses, and without fonts of its own.
 */
export const READ_MATHS = [remarkMath, { singleDollarTextMath: false }] as const
export const DRAW_MATHS = [
  rehypeKatex,
  {
    output: 'mathml',
    throwOnError: false,
    errorColor: 'currentColor',
    trust: false,
    maxExpand: 200,
    maxSize: 20,
  },
] as const
