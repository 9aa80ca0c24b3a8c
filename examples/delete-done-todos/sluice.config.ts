import { defineConfig } from '../../src/index.ts'
import { deleteDoneTodos } from './operations.ts'

export default defineConfig({ operations: [deleteDoneTodos] })
