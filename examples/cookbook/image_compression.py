"""Compress an image by its singular values.

The best image of rank *k* keeps the *k* largest singular values. Here are the errors for every rank at once: what
is lost is the sum of the squares that were left out.

**What fuses.** The decomposition and the products are the library's. The errors, a running sum from the end, are
one small kernel; the images are clipped as they are scaled.
"""

FULL = {"step": 1}
SMALL = {"step": 10}


def inputs(step):
    from sklearn.datasets import load_sample_image

    return {"image": load_sample_image("china.jpg")[::step, ::step].mean(axis=2) / 255}


def compute(np, image):
    u, s, vt = np.linalg.svd(image, full_matrices=False)
    lost = np.sqrt(np.cumsum((s**2)[::-1])[::-1] / np.sum(s**2))
    kept = [np.clip((u[:, :k] * s[:k]) @ vt[:k], 0, 1) for k in (5, 20)]
    return {"lost": lost, "five": kept[0], "twenty": kept[1]}


def picture(figure, given, found):
    left, middle, right = figure.subplots(1, 3)
    left.imshow(found["five"], cmap="gray")
    left.set_title("rank 5")
    middle.imshow(found["twenty"], cmap="gray")
    middle.set_title("rank 20")
    right.semilogy(found["lost"])
    right.set_title("share lost by rank")
    left.axis("off")
    middle.axis("off")
