import { MATMULS, RECIPES, RECIPE_TABLE, recipesText } from '@cairn-tune/train'
import { defineCommand } from '../command.ts'
import { EXIT } from '../exit.ts'

export const recipes = defineCommand({
  name: 'recipes',
  summary: 'Storage and operand formats of every matmul in every recipe, from the table that the engine runs',
  usage: [['recipes', 'one row a recipe and matmul']],
  options: {},
  async run({ values }, io) {
    io.out(
      values.json
        ? `${JSON.stringify({
            recipes: Object.fromEntries(RECIPES.map(name => [name, RECIPE_TABLE[name]])),
            matmuls: MATMULS,
          })}\n`
        : recipesText(),
    )
    return EXIT.ok.code
  },
})
