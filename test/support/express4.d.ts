/** Express 4, which has no types under this name. What our tests use is the same in both. */
declare module 'express4' {
  import express from 'express'
  export default express
}
