const express = require('express')
const { x402Protect, gatewayRouter } = require('express-x402-gateway')
const openShop = require('./routes.cjs')

openShop(express, { x402Protect, gatewayRouter })
