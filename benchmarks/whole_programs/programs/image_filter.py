"""Filters on a picture of 768 x 1024: grey, blur, edges, sharpening, equalised histogram, a threshold."""

import sys

import numpy as np

HEIGHT, WIDTH = 768, 1024


def picture():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    red = 127 + 120 * np.sin(x / 37.0) * np.cos(y / 23.0)
    green = 255 * ((x // 32 + y // 32) % 2)
    blue = np.hypot(x - WIDTH / 2, y - HEIGHT / 2) % 256
    return np.dstack([red, green, blue]).astype(np.uint8)


def grey(image):
    return image @ np.array([0.299, 0.587, 0.114])


def convolve(image, kernel):
    h, w = kernel.shape
    padded = np.pad(image, ((h // 2, h // 2), (w // 2, w // 2)), mode="reflect")
    out = np.zeros_like(image)
    for i in range(h):
        for j in range(w):
            out += kernel[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return out


def gaussian(size, sigma):
    x = np.arange(size) - size // 2
    row = np.exp(-(x**2) / (2 * sigma**2))
    kernel = np.outer(row, row)
    return kernel / kernel.sum()


def equalised(image):
    counts, _ = np.histogram(image, bins=256, range=(0, 256))
    cumulative = counts.cumsum()
    table = np.round(255 * (cumulative - cumulative.min()) / (cumulative.max() - cumulative.min()))
    return table[image.astype(np.uint8)]


def main():
    image = grey(picture())
    blurred = convolve(image, gaussian(7, 1.5))
    sobel = np.array([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    edges = np.sqrt(convolve(blurred, sobel) ** 2 + convolve(blurred, sobel.T) ** 2)
    sharp = np.clip(image + 1.5 * (image - blurred), 0, 255)
    even = equalised(sharp)
    mask = edges > np.percentile(edges, 90)
    print("edges:", int(mask.sum()), "mean:", round(float(even.mean()), 6))
    return np.stack([blurred, edges, sharp, even, mask])


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
